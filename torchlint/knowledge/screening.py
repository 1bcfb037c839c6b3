"""What files are screened for, in the fastest way: byte strings are found ten times faster than most patterns."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Guarded(NamedTuple):
    """A pattern that can only match where one of the words stands, which are searched first; without words, anywhere.

    It is compiled when it is first used: a short run has no time to compile all there are.
    """

    source: bytes
    words: tuple[bytes, ...]
    flags: int = 0

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """The pattern itself."""
        return _compiled(self.source, self.flags)


@cache
def _compiled(source: bytes, flags: int) -> re.Pattern[bytes]:
    return re.compile(source, flags)


Trigger = bytes | re.Pattern[bytes] | Guarded


def guarded(pattern: bytes, *words: bytes, flags: int = 0) -> Guarded:
    """A pattern with its words."""
    return Guarded(pattern, words, flags)
