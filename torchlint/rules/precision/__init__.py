"""Rules about precision, and about inference without what only training needs."""
