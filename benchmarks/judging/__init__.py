"""Readings of findings in public repositories, and what they say about the rules."""
