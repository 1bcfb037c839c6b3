"""Rows of the text report beside a gutter with line numbers: source lines with marks, changed lines, and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchlint.report.cells import width, wrapped
from torchlint.report.terminal import snippet
from torchlint.report.terminal.patch import Change
from torchlint.report.terminal.style import ADDED, GUTTER, REMOVED, Style

# Fewer cells than these beside a mark, and its text goes below it.
_NARROW = 32


class Mark(NamedTuple):
    """Columns of a line to mark in one row, with a text beside the last."""

    ranges: Sequence[snippet.Range]
    symbol: str
    text: str
    color: str


class Sheet:
    """Rows beside a gutter as wide as ``margin``."""

    def __init__(self, style: Style, margin: int) -> None:
        self.rows: list[str] = []
        self.style = style
        self.margin = margin
        self.room = style.width - margin - len(" | ")

    def row(self, number: int | str, text: str = "") -> None:
        """A row with or without a number."""
        gutter = self.style.paint(f"{number:>{self.margin}} |", GUTTER)
        self.rows.append(f"{gutter} {text}" if text else gutter)

    def gap(self) -> None:
        """Lines that are left out."""
        self.rows.append(" " * self.margin + self.style.paint(snippet.CUT, GUTTER))

    def note(self, text: str) -> None:
        """A remark beside the gutter."""
        first, *others = [text] if width(text) <= self.room else wrapped(text, self.room - 2)
        self.rows.append(f"{' ' * self.margin} = {first}")
        self.rows += [f"{' ' * (self.margin + 5)}{other}" for other in others]

    def source(self, number: int, line: str, marks: Sequence[Mark]) -> None:
        """A line and its marks. Marks that do not fit beside the first get a row of the line of their own."""
        owners = [mark for mark in marks for _ in mark.ranges]
        ranges = [columns for mark in marks for columns in mark.ranges]
        pieces = snippet.pieces(line, ranges, self.room)
        for index, piece in enumerate(pieces):
            self.row("" if index else number, piece.text)
            for mark in marks:
                if cells := _cells(piece, mark, owners):
                    more = any(_cells(later, mark, owners) for later in pieces[index + 1 :])
                    self._mark(cells, mark, "" if more else mark.text)
        seen = {at for piece in pieces for at, cells in enumerate(piece.marks) if cells is not None}
        unseen = [owner._replace(ranges=[ranges[at]]) for at, owner in enumerate(owners) if at not in seen]
        if unseen:
            self.source(number, line, unseen)

    def _mark(self, cells: Sequence[tuple[int, int]], mark: Mark, text: str) -> None:
        first = cells[0][0]
        shown = ""
        for at, length in cells:
            shown += " " * (at - first - len(shown)) + mark.symbol * length
        start = first + len(shown) + 1
        beside = self.room - start
        below = width(text) > max(beside, 0) and beside < _NARROW
        said = wrapped(text, self.room - 2 if below else beside)
        shown = shown if below else f"{shown} {said.pop(0)}".rstrip()
        self.row("", " " * first + self.style.paint(shown, mark.color))
        for line in said:
            self.row("", " " * (2 if below else start) + self.style.paint(line, mark.color))

    def change(self, change: Change) -> None:
        """Lines that are replaced, with the number of the first, and those that replace them."""
        number: int | str = change.line
        for sign, text in change.rows(self.room):
            row = f"{number:>{self.margin}} {sign} {text}".rstrip()
            self.rows.append(self.style.paint(row, REMOVED if sign == "-" else ADDED))
            number = ""


def _cells(piece: snippet.Piece, mark: Mark, owners: Sequence[Mark]) -> list[tuple[int, int]]:
    """Where a row of the source has the ranges of a mark, from left to right."""
    return sorted(cells for owner, cells in zip(owners, piece.marks, strict=True) if owner is mark and cells)
