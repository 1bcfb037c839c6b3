"""What files are screened for, in the fastest way: byte strings are found ten times faster than most patterns."""

from __future__ import annotations

import re
from typing import NamedTuple

from torchlint.words import FAR, Before, compiled, follows


class Guarded(NamedTuple):
    """A pattern that can only match where one of the words stands, which are searched first; without words, anywhere.

    What lies right before a match has to match ``before``, if there is one: a pattern that begins with a plain text is
    found many times faster than one that ends with it, or than alternatives.
    It is compiled when it is first used: a short run has no time to compile all there are.
    """

    source: bytes
    words: tuple[bytes, ...]
    flags: int = 0
    before: Before = ""

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """The pattern itself."""
        return compiled(self.source, self.flags)

    def search(self, data: bytes) -> bool:
        """It matches somewhere, whatever the words are."""
        if not self.before:
            return self.pattern.search(data) is not None
        leads = (data[max(0, one.start() - FAR) : one.start()].decode("latin-1") for one in self.pattern.finditer(data))
        return any(follows(lead, len(lead), self.before) for lead in leads)


Trigger = bytes | re.Pattern[bytes] | Guarded


def guarded(pattern: bytes, *words: bytes, flags: int = 0, before: Before = "") -> Guarded:
    """A pattern with its words."""
    return Guarded(pattern, words, flags, before)
