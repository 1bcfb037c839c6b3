"""Linting in several processes."""
