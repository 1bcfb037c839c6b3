"""The survey of public repositories, by ``benchmarks/field.py``."""
