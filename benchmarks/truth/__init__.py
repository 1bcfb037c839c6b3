"""The parts of the benchmark of ground truth."""
