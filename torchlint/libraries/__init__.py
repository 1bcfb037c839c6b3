"""What libraries do with the values that a program gives them."""
