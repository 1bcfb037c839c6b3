"""Executes fixes: runs programs before and after, and compares everything that a run shows."""
