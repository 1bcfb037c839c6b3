"""Columns in characters, from offsets in bytes as ``ast`` gives them."""

from __future__ import annotations


def of_bytes(line: bytes, column: int) -> int:
    """The column, from 1 and in characters, of one from 0 in bytes of UTF-8."""
    return len(line[:column].decode("utf-8", "replace")) + 1
