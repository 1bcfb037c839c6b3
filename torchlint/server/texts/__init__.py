"""The texts of open documents, and places in them."""
