"""What source text tells by itself, without being parsed: lines, words, comments, names and calls."""
