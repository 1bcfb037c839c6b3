"""Linting of one file."""
