"""How often code runs, and what for: once, every epoch, every step, or for every element of a step."""
