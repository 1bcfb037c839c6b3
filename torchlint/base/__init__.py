"""What every part may use: files, digests, globs, limits, signals and times. Knows nothing of linting."""
