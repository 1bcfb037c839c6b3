"""What the beginnings of lines tell of a text: where functions and classes stand that are not part of others."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache

_HEAD = re.compile(r"(?<!\\)(?<!\\\r)\n(?:def|class|async[ \t\\]+def)[ \t\\]")
_AT_EDGE = re.compile(r"[\r\n](?=[^ \t\r\n#)\]}])")
_QUOTES = (re.compile(r'"""'), re.compile("'''"))
_SHARED = re.compile(r"global[ \t\\]([\w\s,\\]*)")
_WORD = re.compile(r"\w+")


class Outline:
    """Of one text; everything is searched for once."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def shared(self) -> frozenset[str]:
        """The names that functions declare to be global, and some others."""
        lists = _SHARED.findall(self._text)
        return frozenset(name for names in lists for name in _WORD.findall(names))

    @cached_property
    def _heads(self) -> list[int]:
        return [found.start() for found in _HEAD.finditer(self._text)]

    @cached_property
    def _at_edge(self) -> list[int]:
        return [found.start() for found in _AT_EDGE.finditer(self._text)]

    @cached_property
    def _quotes(self) -> list[list[int]]:
        return [[found.start() for found in quotes.finditer(self._text)] for quotes in _QUOTES]

    def around(self, place: int) -> tuple[int, int] | None:
        """The offsets between which a variable is known that is assigned at a place in a function or class.

        They lie around the function or class that stands at the left edge, and what follows until the next one. None
        where the place may lie outside of any, or a string may hold what looks like their beginning.
        """
        number = bisect_right(self._heads, place)
        if not number or bisect_left(self._at_edge, place) - bisect_right(self._at_edge, self._heads[number - 1]):
            return None
        head = self._heads[number - 1]
        stop = self._heads[number] if number < len(self._heads) else len(self._text)
        quoted = self._is_odd(head, place) or self._is_odd(place, stop)
        return None if quoted else (head, stop)

    def _is_odd(self, start: int, stop: int) -> bool:
        """The number of some triple quotes between two offsets is odd."""
        return any((bisect_left(found, stop) - bisect_left(found, start)) % 2 for found in self._quotes)


@lru_cache(maxsize=2)
def outline(text: str) -> Outline:
    """The outline of a text, which is asked for many times in a row."""
    return Outline(text)
