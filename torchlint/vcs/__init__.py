"""What git knows about the linted files. Imported only if an option asks for it."""
