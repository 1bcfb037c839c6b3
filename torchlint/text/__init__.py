"""Source text without parsing: encodings, lines, comments, identifiers and size."""
