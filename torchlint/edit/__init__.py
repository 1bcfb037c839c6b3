"""Text edits made from nodes, for the fixes that rules attach to findings."""
