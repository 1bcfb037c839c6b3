"""Rules about backends: flags of cuDNN and its kin."""
