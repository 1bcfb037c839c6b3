"""The command line: the only part that reads arguments, prints, and sets the exit status."""
