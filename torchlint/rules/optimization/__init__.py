"""Rules about training steps: what they keep, and how they update gradients and parameters."""
