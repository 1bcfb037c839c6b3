"""The files of a project as modules: what imports mean, and which files are programs."""
