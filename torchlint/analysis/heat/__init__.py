"""Heat: how often code runs (once, every epoch, every step, for every element of a step), and what a loop is for."""
