"""Rules on compiled code and on training with several devices."""
