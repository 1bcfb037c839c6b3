"""Rules about portability: code that runs on one kind of machine only."""
