"""What functions of PyTorch and methods of tensors give, read, copy and wait for: each is written down once."""
