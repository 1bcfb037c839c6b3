"""Value inference: abstract values of the expressions of one file, computed on demand."""
