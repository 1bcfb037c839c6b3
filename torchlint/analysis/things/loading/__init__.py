"""Data loaders, batches, and where these go."""
