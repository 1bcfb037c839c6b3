"""Rules about precision, and about inference without the costs of training."""
