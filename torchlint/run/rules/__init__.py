"""The rules that a run knows."""
