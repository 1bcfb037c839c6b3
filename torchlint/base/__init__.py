"""Basic utilities without any knowledge of linting: files, globs, limits, signals and timings."""
