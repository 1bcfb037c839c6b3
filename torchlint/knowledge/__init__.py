"""What torch, NumPy and the frameworks mean, as tables without logic."""
