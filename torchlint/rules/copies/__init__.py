"""Rules about copies: tensors made by copying more than needed."""
