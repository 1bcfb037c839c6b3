"""Rules about loading: how batches get to the training loop."""
