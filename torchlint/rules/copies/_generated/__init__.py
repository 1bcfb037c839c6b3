"""Fixes of TL103: content created by NumPy or Python, as calls of torch factories."""
