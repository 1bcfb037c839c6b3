"""What deep learning programs consist of: loaders, batches, moves, transfers, flags of backends."""
