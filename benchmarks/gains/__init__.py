"""What the benchmark of whole programs is made of: their variants, the processes that run them, and the table."""
