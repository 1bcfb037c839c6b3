"""Stands for a module whose results nothing depends on, such as a tracker of experiments: every name does nothing."""

from __future__ import annotations


class Anything:
    """Every call and every attribute is the object itself."""

    def __call__(self, *_: object, **__: object) -> Anything:
        """Do nothing."""
        return self

    def __getattr__(self, name: str) -> Anything:
        """Any attribute but those of Python's protocols."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def __getattr__(name: str) -> object:
    return getattr(Anything(), name)
