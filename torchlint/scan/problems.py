"""Why a scan, or a part of its input, cannot be done."""

from __future__ import annotations


class ScanError(Exception):
    """The scan cannot be done; a one-line reason with advice."""


class Unreadable(Exception):
    """A part of the input cannot be read; the scan goes on without it."""


def reason(error: Exception) -> str:
    """What an error says, on one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
