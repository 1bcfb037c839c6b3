"""Backend flags, where they are written, and the paths on which they hold."""
