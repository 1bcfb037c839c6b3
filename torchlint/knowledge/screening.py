"""What files are screened for, in the fastest way: byte strings are found ten times faster than most patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from torchlint.patterns import FAR, Before, compiled


class Whole(NamedTuple):
    """Words of which one stands by itself, not as a part of another: many of them cost as little as one."""

    words: frozenset[bytes]


def whole(names: Iterable[str]) -> Whole:
    """These words."""
    return Whole(frozenset(name.encode() for name in names))


class Guarded(NamedTuple):
    """A pattern that can only match where one of the words stands, which are searched first; without words, anywhere.

    ``before`` has to hold of what lies right before a match, if there is one: a pattern that begins with a plain text
    is found many times faster than one that ends with it, or than alternatives.
    It is compiled when it is first used: a short run has no time to compile all there are.
    """

    source: bytes
    words: tuple[bytes | Whole, ...]
    before: Before | None = None

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """The pattern itself."""
        return compiled(self.source)

    def search(self, data: bytes) -> bool:
        """It matches somewhere, whatever the words are."""
        if self.before is None:
            return self.pattern.search(data) is not None
        leads = (data[max(0, one.start() - FAR) : one.start()] for one in self.pattern.finditer(data))
        return any(self.before(lead.decode("latin-1")) for lead in leads)


Trigger = bytes | re.Pattern[bytes] | Guarded | Whole


def guarded(pattern: bytes, *words: bytes | Whole, before: Before | None = None) -> Guarded:
    """A pattern with its words."""
    return Guarded(pattern, words, before)
