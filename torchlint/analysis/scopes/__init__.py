"""Names and order: what a name stands for, what runs before what, and under which conditions."""
