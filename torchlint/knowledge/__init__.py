"""Facts about PyTorch, NumPy and frameworks, as tables without logic."""
