"""What functions, methods, attributes and operators of libraries give."""
