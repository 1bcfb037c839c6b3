"""What files are screened for, in the fastest way: byte strings are found ten times faster than most patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Guarded:
    """A pattern that can only match where one of the words stands, which are searched first."""

    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


Trigger = bytes | re.Pattern[bytes] | Guarded


def guarded(pattern: bytes, *words: bytes, flags: int = 0) -> Guarded:
    """A pattern with its words."""
    return Guarded(words, re.compile(pattern, flags))
