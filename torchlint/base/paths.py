"""Relative paths as they are shown and compared: with ``/`` on every system, also between two drives of Windows."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH117
from __future__ import annotations

import os


def relative_to(base: str, path: str) -> str:
    """``path`` relative to a folder, with ``/``; the path itself if it is on another drive."""
    try:
        return slashes(os.path.relpath(path, base))
    except ValueError:  # no path leads from one drive to another
        return slashes(path)


def below(path: str, base: str = ".") -> str | None:
    """``path`` relative to a folder, with ``/``; None if it is not below that folder."""
    relative = relative_to(base, path)
    outside = relative == ".." or relative.startswith("../") or os.path.isabs(relative)
    return None if outside else relative


def shown(path: str, base: str = ".") -> str:
    """``path`` relative to a folder if it is below it, with ``/``."""
    found = below(path, base)
    return slashes(path) if found is None else found


def slashes(path: str) -> str:
    """A path with ``/`` instead of the separator of this system."""
    return path.replace(os.sep, "/")
