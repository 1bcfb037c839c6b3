"""Requests for CUDA, and what shows that a program runs without it, or only with it."""
