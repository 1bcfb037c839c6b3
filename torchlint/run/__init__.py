"""One run: files found, linted in one or several processes, cached, repaired."""
