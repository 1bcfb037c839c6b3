"""Rules about loading: how batches reach the training loop."""
