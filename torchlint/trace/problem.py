"""Why a recording cannot be read."""

from __future__ import annotations


class Unreadable(Exception):
    """Why a recording cannot be read, and what to do. The message continues a sentence that begins with its name."""
