"""The cells of a notebook in the module that is linted in its place. Standard library only.

The module begins with a comment that names what marks the others: the comments above cells, and the names that stand
for commands of IPython. Neither occurs in the notebook itself, so both are found again in a module that fixes changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from torchlint.model import Edit, Evidence, Finding, Fix, Span
from torchlint.text.lines import line_starts, lines_in_words, split_lines

# It says that this is a program, as a main guard does in other files.
_HEADER = (
    '# The cells of a notebook, which runs as __main__: "# {sign} cell 1" begins one, and "{name}1" stands for '
    "a command of IPython."
)
_PATTERN = re.compile(re.escape(_HEADER).replace(r"\{sign\}", "(%%+)").replace(r"\{name\}", r"([a-z_]\w*)") + "\n")
_START = _HEADER.partition("{")[0]
_SHORT, _LONG = ("_m", "_c", "_q", "_x"), "_command_"


class Marks(NamedTuple):
    """What marks the cells and the commands of one notebook: text that occurs nowhere in it."""

    sign: str
    name: str

    @classmethod
    def for_text(cls, text: str) -> Marks:
        """Marks that a text does not contain."""
        signs = re.findall(r"# (%%+) cell", text)
        numbers = re.findall(rf"{_LONG}(\d+)_", text)
        unique = f"{_LONG}{'0' * (max(map(len, numbers), default=0) + 1)}_"
        return cls("%" + max(signs, key=len, default="%"), next((name for name in _SHORT if name not in text), unique))

    @property
    def header(self) -> str:
        """The first line of the module."""
        return _HEADER.format(sign=self.sign, name=self.name) + "\n"

    def above(self, cell: int) -> str:
        """The line above a cell."""
        return f"# {self.sign} cell {cell}\n"


class Cells:
    """Where each cell is in the text of a module."""

    def __init__(self, text: str, marks: Marks) -> None:
        self.text, self.marks = text, marks
        found = list(re.finditer(rf"^# {marks.sign} cell (\d+)\n", text, re.MULTILINE))
        ends = [mark.start() for mark in found[1:]] + [len(text)]
        self._ranges = {int(mark[1]): (mark.end(), end) for mark, end in zip(found, ends, strict=False)}
        self._ends: dict[int, tuple[int, int]] = {}
        starts = line_starts(text)
        self._marks = [bisect_right(starts, mark.start()) for mark in found]
        self._numbers = [int(mark[1]) for mark in found]

    @classmethod
    def of(cls, text: str) -> Cells | None:
        """The cells of the module of a notebook; None for any other text."""
        found = _PATTERN.match(text) if text.startswith(_START) else None
        return cls(text, Marks(found[1], found[2])) if found else None

    def sources(self) -> dict[int, str]:
        """The text of each cell, by its number, with commands replaced."""
        return {number: self._source(number) for number in self._ranges}

    def _end(self, cell: int) -> tuple[int, int]:
        """The last line of a cell, and the column behind it."""
        found = self._ends.get(cell)
        if found is None:
            lines = split_lines(self._source(cell))
            found = self._ends[cell] = len(lines), len(lines[-1]) + 1
        return found

    def _source(self, cell: int) -> str:
        start, end = self._ranges[cell]
        return self.text[start : end - 1]

    def is_kept_by(self, text: str) -> bool:
        """Whether another text has the same cells and commands."""
        other = Cells.of(text)
        return other is not None and other.marks == self.marks and other.skeleton() == self.skeleton()

    def skeleton(self) -> list[str]:
        """The marks in the text, which no fix may change: comments above cells, and what stands for commands."""
        marks = self.marks
        pattern = rf"^# {marks.sign} cell \d+$|(?:^[ \t\f]*)?\b{marks.name}\d+\b(?:\(\s*\)|;[ \t]*)?"
        return [found[0] for found in re.finditer(pattern, self.text, re.MULTILINE)]

    # -- places ----------------------------------------------------------------------------------

    def place(self, line: int) -> tuple[int, int]:
        """The number of the cell of a line, and the number of the line in it."""
        index = max(bisect_right(self._marks, line) - 1, 0)
        return self._numbers[index], line - self._marks[index]

    def line(self, cell: int, number: int) -> int:
        """The line of the module that is the one with this number in a cell; 0 if there is no such cell."""
        return self._marks[self._numbers.index(cell)] + number if cell in self._numbers else 0

    def in_words(self, lines: Iterable[int]) -> str:
        """Lines of the module in words: ``lines 2-4 of cell 3 and line 1 of cell 5``."""
        cells: dict[int, list[int]] = {}
        for line in lines:
            cell, number = self.place(line)
            cells.setdefault(cell, []).append(number)
        return " and ".join(f"{lines_in_words(numbers)} of cell {cell}" for cell, numbers in sorted(cells.items()))

    def placed(self, finding: Finding) -> Finding:
        """A finding in the module as a finding in a cell; one about the module as a whole stays as it is."""
        if not self._marks or finding.span.line <= self._marks[0]:
            return finding
        cell, _ = self.place(finding.span.line)
        fix, statement = finding.fix, finding.statement
        if statement is not None:
            shift = finding.span.line - self._shifted(finding.span).line
            statement = (statement[0] - shift, statement[1] - shift)
        return finding._replace(
            cell=cell,
            span=self._shifted(finding.span),
            statement=statement,
            evidence=tuple(map(self._placed_evidence, finding.evidence)),
            fix=self._placed_fix(fix) if fix is not None else None,
        )

    def _placed_evidence(self, evidence: Evidence) -> Evidence:
        cell, line = self.place(evidence.line)
        return evidence._replace(line=line, cell=cell)

    def _placed_fix(self, fix: Fix) -> Fix:
        return fix._replace(edits=tuple(map(self._placed_edit, fix.edits)))

    def _placed_edit(self, edit: Edit) -> Edit:
        """An edit in its cell; it neither begins nor ends below the last line of the cell."""
        cell, first = self.place(edit.span.line)
        if first == 0:  # inserted above the comment over a cell: below the last line of the cell before
            cell, first = self.place(edit.span.line - 1)
            first += 1
        shift = edit.span.line - first
        end = self._end(cell)
        start, stop = (first, edit.span.column), (edit.span.end_line - shift, edit.span.end_column)
        text = edit.text
        if start[0] > end[0]:
            start, text = end, "\n" + text.removesuffix("\n")
        return Edit(Span(*start, *min(stop, end)), text, cell)

    def _shifted(self, span: Span) -> Span:
        """A span in its cell; it may end at the beginning of the line after the cell."""
        shift = span.line - self.place(span.line)[1]
        return span._replace(line=span.line - shift, end_line=span.end_line - shift)


def in_words(text: str, lines: Iterable[int]) -> str:
    """Lines of a source text in words; in the module of a notebook with the cell."""
    cells = Cells.of(text)
    return cells.in_words(lines) if cells is not None else lines_in_words(lines)
