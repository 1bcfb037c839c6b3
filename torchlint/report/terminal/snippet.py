"""Source lines that fit into a report, with ranges to underline.

A line that is too long is cut, but never in what is underlined first: if that alone is too long, it continues on
further rows. Underlines are measured in cells of the terminal.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from torchlint.model import Span
from torchlint.report.cells import drawn, in_word, width

CUT = "..."
# The number of characters looked at around a range in a very long line, such as embedded data, and within it.
REACH = 400
# The least number of cells for source, however narrow the terminal is.
LEAST = 20
# Of a span with more lines than this, the first and last are shown.
MOST_LINES = 5

# Characters after which a row may end that continues on the next.
_BREAKS = frozenset(" ,.([{")

# Columns of a line that count from 1; the second is exclusive.
Range = tuple[int, int]


class Piece(NamedTuple):
    """A row of a source line, and for each range its first cell and its width; None if it is not in this row."""

    text: str
    marks: tuple[tuple[int, int] | None, ...]


def of_span(lines: Sequence[str], span: Span) -> list[tuple[int, Range | None] | None]:
    """The lines of a span with the columns to underline; ``None`` stands for lines that are left out.

    Of several lines, the first and the last are underlined.
    """
    last = min(span.end_line, len(lines))
    if span.end_column == 1 and last == span.end_line > span.line:
        last -= 1  # an end at the first column of a line underlines nothing there
    numbers = [number for number in range(span.line, last + 1) if number > 0]
    found: list[tuple[int, Range | None] | None] = [(n, _part(n, last, lines[n - 1], span)) for n in numbers]
    if len(numbers) > MOST_LINES:
        found[3:-1] = [None]
    return found


def _part(number: int, last: int, line: str, span: Span) -> Range | None:
    if number not in (span.line, last):
        return None
    start = span.column if number == span.line else len(line) - len(line.lstrip()) + 1
    end = span.end_column if number == span.end_line else len(line.rstrip()) + 1
    return start, max(start, end)


def pieces(line: str, ranges: Sequence[Range], room: int) -> list[Piece]:
    """A line with ranges of columns, cut to rows of at most ``room`` cells."""
    return _cells(line, ranges, long=len(line) > REACH).pieces(max(room, LEAST))


def pair(old: tuple[str, Range], new: tuple[str, Range], room: int) -> tuple[list[Piece], list[Piece]]:
    """A line and the one that replaces it, cut at the same place, so that the two can be compared."""
    room = max(room, LEAST)
    long = max(len(old[0]), len(new[0])) > REACH
    one, other = (_cells(line, [columns], long=long) for line, columns in (old, new))
    least = max(one.left(room), other.left(room))
    return one.pieces(room, least), other.pieces(room, least)


def _cells(line: str, ranges: Sequence[Range], *, long: bool) -> _Cells:
    if long:
        return _Cells(*_near(line, ranges))
    return _Cells(line.rstrip(), ranges, cut=(False, False))


def _near(line: str, ranges: Sequence[Range]) -> tuple[str, list[Range], tuple[bool, bool]]:
    """The part of a very long line around the first range, and whether it was cut on the left and right."""
    first, end = ranges[0] if ranges else (1, 1)
    left = max(0, first - 1 - REACH)
    right = min(max(end, first), first + REACH) + REACH
    return line[left:right], [(a - left, min(b, a + REACH) - left) for a, b in ranges], (left > 0, right < len(line))


class _Cells:
    """A line as cells, and its ranges as offsets of cells."""

    def __init__(self, line: str, ranges: Sequence[Range], cut: tuple[bool, bool]) -> None:
        self.cells = drawn(line)
        self.offsets: Sequence[int] = range(len(line) + 1)
        if not (line.isascii() and line.isprintable()):
            self.offsets = list(accumulate(map(width, self.cells), initial=0))
        self.indent = self.offsets[len(line) - len(line.lstrip())]
        self.cut = cut
        self.ranges = [self._range(start, end) for start, end in ranges]

    def left(self, room: int) -> int:
        """Where the first row begins: as far to the left as what must be shown permits, but without indentation."""
        if self._fits(room):
            return 0
        room -= 2 * len(CUT)
        begin, stop = self._kept(room)
        if stop <= room:
            return 0
        if stop <= self._end(self.indent, room):
            return min(begin, self.indent)
        if stop > self._end(begin, room):
            return begin
        left = max(0, min(begin - (room - (stop - begin)) // 2, self.offsets[-1] - room - len(CUT)))
        index = bisect_left(self.offsets, left)
        while self.offsets[index] < begin and in_word(self.cells[index - 1]) and in_word(self.cells[index]):
            index += 1
        return self.offsets[index]

    def pieces(self, room: int, least: int = 0) -> list[Piece]:
        """The rows that show the first range, and as much around it as there is room for right of ``least``."""
        left = max(self.left(room), least)
        if left == 0 and self._fits(room):
            return [self._piece(0, self.offsets[-1])]
        room -= 2 * len(CUT)
        _, stop = self._kept(room)
        found: list[Piece] = []
        while stop > self._end(left, room):
            right = self._break(left, left + room)
            found.append(self._piece(left, right, first=not found, last=False))
            left = right
        return [*found, self._piece(left, self._end(left, room), first=not found)]

    def _range(self, start: int, end: int) -> Range:
        """The offsets of columns; an empty range takes one cell."""
        first = min(max(start - 1, 0), len(self.cells))
        final = min(max(end - 1, first), len(self.cells))
        return self.offsets[first], max(self.offsets[final], self.offsets[first] + 1)

    def _kept(self, room: int) -> Range:
        """The cells that must be shown: all ranges if there is room for them, otherwise the first."""
        if not self.ranges:
            return self.indent, self.indent
        begin, stop = min(self.ranges)[0], max(end for _, end in self.ranges)
        if stop - begin > room:
            begin, stop = self.ranges[0]
        return begin, min(stop, self.offsets[-1])

    def _end(self, left: int, room: int) -> int:
        """Where a row ends that begins at ``left``: nothing needs to say that the end of a line is cut."""
        total = self.offsets[-1]
        return total if total - left <= room + len(CUT) and not self.cut[1] else left + room

    def _fits(self, room: int) -> bool:
        return self.offsets[-1] <= room and not any(self.cut)

    def _break(self, left: int, right: int) -> int:
        """Where a row ends that begins at ``left``: in its second half, best after a space or an opening bracket."""
        last = bisect_right(self.offsets, right) - 1
        half = range(last, bisect_left(self.offsets, (left + right) // 2), -1)
        good = (i for i in half if self.cells[i - 1] in _BREAKS and self.cells[i : i + 1] != [" "])
        fair = (i for i in half if not all(map(in_word, self.cells[i - 1 : i + 1])))
        return self.offsets[next(good, next(fair, last))]

    def _piece(self, left: int, right: int, *, first: bool = True, last: bool = True) -> Piece:
        """The cells from ``left`` to ``right``, marked as cut on the sides where no other row continues them."""
        start = bisect_left(self.offsets, left)
        end = bisect_right(self.offsets, right) - 1
        while not last and end > start + 1 and self.cells[end - 1] == " ":
            end -= 1
        left, right = self.offsets[start], self.offsets[end]
        at_end = end == len(self.cells)
        before = CUT if first and (start > 0 or self.cut[0]) else ""
        after = CUT if last and (not at_end or self.cut[1]) else ""
        marks = tuple(self._mark(one, left, right, len(before), at_end=at_end) for one in self.ranges)
        return Piece((before + "".join(self.cells[start:end]) + after).rstrip(), marks)

    def _mark(self, marked: Range, left: int, right: int, shift: int, *, at_end: bool) -> Range | None:
        begin, stop = max(marked[0], left), min(marked[1], right)
        if begin < stop:
            return shift + begin - left, stop - begin
        return (shift + right - left, 1) if at_end and marked[0] == right else None
