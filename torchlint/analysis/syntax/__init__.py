"""Syntax trees: how LibCST nodes are created, traversed and positioned."""
