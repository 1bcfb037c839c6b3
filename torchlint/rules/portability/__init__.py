"""Rules about portability: code that runs only on one kind of machine."""
