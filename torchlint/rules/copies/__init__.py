"""Rules about copies: tensors that are created with needless copies."""
