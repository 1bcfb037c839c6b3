"""Lines of source text, as Python counts them. Standard library only."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from torchlint.model import Span

# A string literal, whatever its replacement fields contain; compile with DOTALL.
STRINGS = (
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\")?"
    r"|'''(?:[^\\']|\\.|'(?!''))*(?:''')?"
    r"|\"(?:[^\"\\\r\n]|\\(?:\r\n|.))*\"?"
    r"|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'?"
)


def split_lines(text: str) -> list[str]:
    """The lines without newline characters: LF, CRLF and CR end a line, form feeds and U+2028 do not."""
    return re.split(r"\r\n|\r|\n", text) if "\r" in text else text.split("\n")


def with_line_feeds(data: bytes) -> bytes:
    """Replace every CR that ends a line alone by LF, as Python does; positions do not change."""
    if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"):
        return data
    return re.sub(rb"\r(?!\n)", b"\n", data)


def line_starts(text: str) -> list[int]:
    """The offsets at which lines begin."""
    if "\r" not in text:
        before = accumulate(map(len, text.split("\n")), initial=0)
        return [length + number for number, length in enumerate(before)][:-1]
    return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]


def lines_in_words(numbers: Iterable[int]) -> str:
    """Line numbers in words: ``line 3``, ``lines 3-5, 9``."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"line {shown}" if shown.isdigit() else f"lines {shown}"


class Places:
    """Converts between offsets in a text and lines and columns. Both count characters."""

    def __init__(self, text: str) -> None:
        self._starts = line_starts(text)

    def span(self, start: int, end: int) -> Span:
        """The span between two offsets."""
        return Span(*self._place(start), *self._place(end))

    def offsets(self, span: Span) -> tuple[int, int]:
        """The offsets of a span."""
        return self._starts[span.line - 1] + span.column - 1, self._starts[span.end_line - 1] + span.end_column - 1

    def start(self, line: int) -> int:
        """The offset at which a line begins."""
        return self._starts[line - 1]

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
