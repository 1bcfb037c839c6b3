"""What earlier runs of programs have shown."""
