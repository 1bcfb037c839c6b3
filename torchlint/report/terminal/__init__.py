"""The text report."""
