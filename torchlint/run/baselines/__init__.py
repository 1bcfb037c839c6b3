"""Baselines: findings that a project accepts for now."""
