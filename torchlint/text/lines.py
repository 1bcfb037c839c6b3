"""Lines of source text, as Python counts them. Standard library only."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from torchlint.model import Span

# A string, whatever is in the fields of one that has any; a point matches newlines as well where this is used.
STRINGS = (
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\")?"
    r"|'''(?:[^\\']|\\.|'(?!''))*(?:''')?"
    r"|\"(?:[^\"\\\r\n]|\\(?:\r\n|.))*\"?"
    r"|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'?"
)


def split_lines(text: str) -> list[str]:
    """The lines without their ends: LF, CRLF and CR end a line, form feeds and U+2028 do not."""
    return re.split(r"\r\n|\r|\n", text)


def with_line_feeds(data: bytes) -> bytes:
    """The bytes with LF for every CR that ends a line alone, as Python reads it; everything else stays where it is."""
    if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"):
        return data
    return re.sub(rb"\r(?!\n)", b"\n", data)


def line_starts(text: str) -> list[int]:
    """Offsets at which lines begin."""
    if "\r" not in text:
        before = accumulate(map(len, text.split("\n")), initial=0)
        return [length + number for number, length in enumerate(before)][:-1]
    return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]


def lines_in_words(numbers: Iterable[int]) -> str:
    """``line 3``, ``lines 3-5, 9``."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"line {shown}" if shown.isdigit() else f"lines {shown}"


class Places:
    """Offsets into a text as lines and columns, and back. Both count characters."""

    def __init__(self, text: str) -> None:
        self._starts = line_starts(text)
        self._length = len(text)

    def span(self, start: int, end: int) -> Span:
        """The span between two offsets."""
        return Span(*self._place(start), *self._place(end))

    def offsets(self, span: Span) -> tuple[int, int]:
        """The offsets between which a span lies."""
        return self._starts[span.line - 1] + span.column - 1, self._starts[span.end_line - 1] + span.end_column - 1

    def of_lines(self, first: int, last: int) -> tuple[int, int]:
        """The offsets between which these lines lie, the end of the last one included where the text goes on."""
        return self._starts[first - 1], self._starts[last] if last < len(self._starts) else self._length

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
