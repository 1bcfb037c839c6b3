"""The command line. The only part that reads arguments, prints, and sets the exit status."""
