"""Runs: discovery of files, linting in one or several processes, caching, and applying fixes."""
