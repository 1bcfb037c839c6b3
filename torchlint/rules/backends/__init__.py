"""Rules about backends: flags of cuDNN and of deterministic algorithms."""
