"""Which files a run lints, and what is linted for them."""
