"""Scopes and control flow: bindings, name resolution, reaching definitions and guards."""
