"""Source lines with underlined ranges, for terminals.

A column of the source is a character; a column of the terminal is a cell. Tabs, wide and combining characters and
escaped controls make the two differ, so underlines are measured in cells.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from torchlint.model import Span
from torchlint.report.shared import visible

ROOM = 100
TAB = 4
CUT = "..."
# The number of characters shown around a range in a very long line, such as embedded data.
REACH = 4 * ROOM
# Of a span with more lines than this, the first and last are shown.
MOST_LINES = 5


class Row(NamedTuple):
    """A line to print, and the range of cells to underline; empty for a blank line inside a span."""

    line: int
    text: str
    start: int
    width: int


def rows(lines: Sequence[str], span: Span) -> list[Row | None]:
    """The lines of a span; ``None`` stands for lines that are left out."""
    last = min(span.end_line, len(lines))
    if span.end_column == 1 and last == span.end_line > span.line:
        last -= 1  # an end at the first column of a line underlines nothing there
    numbers = [n for n in range(span.line, last + 1) if n > 0]
    found: list[Row | None] = [_row_of_span(n, lines[n - 1], span) for n in numbers[:MOST_LINES]]
    if len(numbers) > MOST_LINES:
        found[3:] = [None, _row_of_span(last, lines[last - 1], span)]
    return found


def point(lines: Sequence[str], line: int, column: int) -> Row | None:
    """One line with one character underlined, if the line exists."""
    if not 1 <= line <= len(lines):
        return None
    return row(line, lines[line - 1], column, column + 1)


def row(number: int, line: str, start: int, end: int) -> Row:
    """A line with the columns from ``start`` to ``end`` underlined, cut to fit around them."""
    skipped = max(0, start - 1 - REACH)
    part = line[skipped : skipped + 2 * REACH]
    cells = _cells(part)
    offsets = list(accumulate(map(_width, cells), initial=0))
    first = min(max(start - 1 - skipped, 0), len(cells))
    final = min(max(end - 1 - skipped, first), len(cells))
    begin, stop = offsets[first], max(offsets[final], offsets[first] + 1)
    left, right = _window(begin, stop, offsets[-1])
    kept = [i for i, cell in enumerate(cells) if left <= offsets[i] and offsets[i] + _width(cell) <= right]
    before = CUT if skipped or left > 0 else ""
    after = CUT if right < offsets[-1] or skipped + len(part) < len(line) else ""
    origin = offsets[kept[0]] if kept else 0
    text = before + "".join(cells[i] for i in kept) + after
    return Row(number, text.rstrip(), len(before) + begin - origin, min(stop, max(right, begin + 1)) - begin)


def _row_of_span(number: int, line: str, span: Span) -> Row:
    if number != span.line and not line.strip():
        return Row(number, "", 0, 0)
    indent = len(line) - len(line.lstrip())
    start = span.column if number == span.line else indent + 1
    end = span.end_column if number == span.end_line else len(line.rstrip()) + 1
    return row(number, line, start, end)


def _window(begin: int, stop: int, total: int) -> tuple[int, int]:
    if total <= ROOM:
        return 0, total
    spare = max(ROOM - (stop - begin), ROOM // 4)
    left = min(max(0, begin - spare // 2), total - ROOM)
    return left, left + ROOM


def _cells(line: str) -> list[str]:
    if line.isprintable():
        return list(line)
    cells: list[str] = []
    at = 0
    for character in line:
        drawn = " " * (TAB - at % TAB) if character == "\t" else visible(character)
        cells.append(drawn)
        at += _width(drawn)
    return cells


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    if unicodedata.category(cell) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1
