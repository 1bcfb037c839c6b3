"""The parts of deep learning programs: loaders, batches, moves, steps, reads, backend flags, requests for CUDA."""
