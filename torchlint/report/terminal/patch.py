"""The lines that a fix changes, for the text report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from torchlint.model import Edit, Fix
from torchlint.report.cells import in_word
from torchlint.report.terminal.snippet import Piece, pair, pieces
from torchlint.text.lines import split_lines

# Longer patches are left to --diff.
MOST_LINES = 24


class Change(NamedTuple):
    """Lines from number ``line`` on, of a cell in a notebook, that are replaced by others; both may be empty."""

    line: int
    old: Sequence[str]
    new: Sequence[str]
    cell: int | None = None

    def rows(self, room: int) -> Iterator[tuple[str, str]]:
        """The rows of the patch, cut to ``room`` cells, with their signs."""
        shown: tuple[list[list[Piece]], list[list[Piece]]]
        if len(self.old) == len(self.new):
            pairs = [_pair(old, new, room) for old, new in zip(self.old, self.new, strict=True)]
            shown = [old for old, _ in pairs], [new for _, new in pairs]
        else:
            shown = _whole(self.old, room), _whole(self.new, room)
        for sign, lines in zip("-+", shown, strict=True):
            yield from ((sign, piece.text) for line in lines for piece in line)


def changes(fix: Fix, source: Callable[[int | None], Sequence[str]]) -> list[Change] | None:
    """What a fix changes, in the order of the lines; None if the file has changed since it was linted.

    ``source`` returns the lines of a cell, or those of the file for None.
    """
    if any(edit.span.end_line > len(source(edit.cell)) for edit in fix.edits):
        return None
    return [
        change._replace(cell=edits[0].cell)
        for edits in _by_lines(fix.edits)
        for change in _changed(edits, source(edits[0].cell))
    ]


def size(patch: Sequence[Change]) -> int:
    """The number of lines of a patch."""
    return sum(len(change.old) + len(change.new) for change in patch)


def _by_lines(edits: Sequence[Edit]) -> list[list[Edit]]:
    """The edits by lines: those that touch a common line are together."""
    groups: list[list[Edit]] = []
    last = (0, 0)
    for edit in sorted(edits, key=lambda edit: (edit.cell or 0, edit.span)):
        if groups and (edit.cell or 0, edit.span.line) <= last:
            groups[-1].append(edit)
        else:
            groups.append([edit])
        last = max(last, (edit.cell or 0, edit.span.end_line))
    return groups


def _changed(edits: Sequence[Edit], lines: Sequence[str]) -> Iterator[Change]:
    first = edits[0].span.line
    old = lines[first - 1 : max(edit.span.end_line for edit in edits)]
    new = split_lines(_applied(edits, old, first))
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if min(len(before), len(after)) < 2:
        yield Change(first + start, before, after)
        return
    from difflib import SequenceMatcher

    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Change(first + start + a, before[a:b], after[c:d])


def _applied(edits: Sequence[Edit], lines: Sequence[str], first: int) -> str:
    """These lines, which begin with number ``first``, after the edits."""
    parts: list[str] = []
    line, column = first, 1
    for edit in edits:
        parts += [_between(lines, line - first, column, edit.span.line - first, edit.span.column), edit.text]
        line, column = edit.span.end_line, edit.span.end_column
    last = len(lines) - 1
    return "".join([*parts, _between(lines, line - first, column, last, len(lines[last]) + 1)])


def _between(lines: Sequence[str], line: int, column: int, end_line: int, end_column: int) -> str:
    """The text between two places; lines count from 0, columns from 1."""
    if line == end_line:
        return lines[line][column - 1 : end_column - 1]
    return "\n".join([lines[line][column - 1 :], *lines[line + 1 : end_line], lines[end_line][: end_column - 1]])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal items at the beginning."""
    least = min(len(one), len(other))
    return next((index for index in range(least) if one[index] != other[index]), least)


def _whole(lines: Sequence[str], room: int) -> list[list[Piece]]:
    return [pieces(line, [(len(line) - len(line.lstrip()) + 1, len(line) + 1)], room) for line in lines]


def _pair(old: str, new: str, room: int) -> tuple[list[Piece], list[Piece]]:
    """A line and the one that replaces it, with the words that are different."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    while start and in_word(old[start - 1]):
        start -= 1
    while end and in_word(old[-end]):
        end -= 1
    return pair((old, (start + 1, len(old) - end + 1)), (new, (start + 1, len(new) - end + 1)), room)
