"""What the beginnings of lines tell of a text: where functions and classes stand that are not part of others."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache

from torchlint.patterns import STRINGS

# Comments and strings are passed over; what stays are the ends of lines before what stands at the left edge.
_LINES = re.compile(
    rf"#[^\r\n]*|{STRINGS}"
    r"|(?P<edge>[\r\n](?P<head>(?:def|class|async[ \t\\]+def)[ \t\\])?(?=[^ \t\r\n#)\]}]))",
    re.DOTALL,
)
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
    def _edges(self) -> list[tuple[int, bool]]:
        """Where lines end before the left edge is taken; whether a function or class begins there."""
        found = [match for match in _LINES.finditer(self._text) if match["edge"] is not None]
        return [(match.start(), match["head"] is not None) for match in found]

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._edges]

    @cached_property
    def _heads(self) -> list[int]:
        return [start for start, begins in self._edges if begins]

    def around(self, place: int) -> tuple[int, int] | None:
        """The offsets between which a variable is known that is assigned at a place in a function or class.

        They lie around the function or class that stands at the left edge, and what follows until the next one. None
        where the place may lie outside of any.
        """
        number = bisect_right(self._starts, place)
        if not number or not self._edges[number - 1][1]:
            return None
        following = bisect_right(self._heads, place)
        stop = self._heads[following] if following < len(self._heads) else len(self._text)
        return self._starts[number - 1], stop


@lru_cache(maxsize=2)
def outline(text: str) -> Outline:
    """The outline of a text, which is asked for many times in a row."""
    return Outline(text)
