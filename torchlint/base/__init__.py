"""Basic utilities without any knowledge of linting: files, globs, digests, limits, signals and timings."""
