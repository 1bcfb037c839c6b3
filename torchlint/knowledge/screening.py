"""What files are screened for, in the fastest way: byte strings are found ten times faster than most patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Guarded:
    """A pattern that can only match where one of the words stands, which are searched first."""

    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


Trigger = bytes | re.Pattern[bytes] | Guarded


def guarded(pattern: bytes, *words: bytes, flags: int = 0) -> Guarded:
    """A pattern with its words."""
    return Guarded(words, re.compile(pattern, flags))


@dataclass(frozen=True)
class Calls:
    """Calls of functions by the last part of their names, without certain keywords among the arguments."""

    names: tuple[str, ...]
    without: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds all that are attributes of a module, functions that are only named, and imports, which may give names."""
        names, without = "|".join(self.names), "|".join(self.without)
        arguments = r"[^()]*(?:\([^()]*\)[^()]*)*"
        return re.compile(rf"\.(?:{names})(?!\w)(?!\s*\({arguments}\b(?:{without})\s*=)|\bimport\b")


Word = str | re.Pattern[str] | Calls
Words = Sequence[Word]
