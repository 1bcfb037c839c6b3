"""What expressions are: abstract values of one file, inferred when somebody asks."""
