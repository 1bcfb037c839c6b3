"""Changes of files: fixes, and comments that suppress findings."""
