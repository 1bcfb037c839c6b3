"""What the code means: names, values, flow, guards and heat. The only door to LibCST."""
