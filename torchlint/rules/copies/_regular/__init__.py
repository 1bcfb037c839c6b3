"""How content that NumPy or Python made is made by a factory of torch."""
