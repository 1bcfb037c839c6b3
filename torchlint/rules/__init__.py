"""The rules, one module each; the registry finds them by walking this package."""
