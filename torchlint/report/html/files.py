"""Annotated source files, as much of them as fits into a page.

First every finding is shown, then the lines around it, then whole files, in the order of the files, as long as the page
stays below its limit. Lines far from a finding are folded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from markupsafe import Markup

from torchlint.model import Span
from torchlint.report.html.pages import part
from torchlint.report.html.source import highlighted, ranges

# In bytes; the rest of a page takes less than a tenth of this.
ROOM = 850_000
_AROUND = 4
# Fewer lines are not worth folding.
_FOLD = 3
# After a longer expression, the note would be far from its beginning.
_LONG = 8


class Note(NamedTuple):
    """What is shown below a line: HTML, the span, further lines that it refers to, and whether the span is marked."""

    span: Span
    html: Markup
    lines: tuple[int, ...] = ()
    marked: bool = True


class Annotated(NamedTuple):
    """A file with its notes. ``gutter`` has the figures of single lines; None is a file without that column.

    ``never`` are lines that were not run.
    """

    id: str
    path: str
    lines: Sequence[str]
    notes: Sequence[Note]
    head: str
    gutter: Mapping[int, Markup] | None = None
    never: frozenset[int] = frozenset()


class Row(NamedTuple):
    """A source line on the page. ``id`` is empty for lines that nothing refers to."""

    number: int
    id: str
    never: bool
    html: Markup
    gutter: Markup | None
    notes: list[Markup]


class Block(NamedTuple):
    """Lines that are shown, folded, or left out; or notes without lines."""

    kind: str
    size: int
    rows: list[Row]


class Fitted(NamedTuple):
    """The files of a page as HTML; ``omitted`` notes of ``files`` are not on it, ``shortened`` files not completely."""

    files: list[Annotated]
    html: list[Markup]
    omitted: int
    shortened: int


def fitting(files: Sequence[Annotated], room: int = ROOM) -> Fitted:
    """As much of these files as the room allows."""
    shown: list[Markup] = []
    for file in files:
        bare = _rendered(file, [_unplaced(file)])
        needed = len(bare.encode()) + len(part("parts.html", "link", file).encode())
        if needed > room:
            break
        room -= needed
        shown.append(bare)
    sources = [(place, file, rows(file)) for place, file in enumerate(files[: len(shown)]) if file.lines]
    short = {place for place, *_ in sources}
    for whole in (False, True):
        for place, file, lines in sources:
            better = _rendered(file, _blocks(lines, whole=whole))
            more = len(better.encode()) - len(shown[place].encode())
            if more <= room:
                shown[place] = better
                room -= more
                short -= {place} if whole else set()
    return Fitted(list(files[: len(shown)]), shown, sum(len(file.notes) for file in files[len(shown) :]), len(short))


def limited(parts: Sequence[Markup], room: int) -> list[Markup]:
    """As many of these parts as the room allows, from the first."""
    sizes = accumulate(len(part.encode()) for part in parts)
    return [part for part, size in zip(parts, sizes, strict=True) if size <= room]


def _rendered(file: Annotated, blocks: Sequence[Block]) -> Markup:
    return part("parts.html", "file", file, blocks)


def _unplaced(file: Annotated) -> Block:
    """The notes of a file without its lines."""
    return Block("notes", 0, [Row(0, "", False, Markup(), None, [note.html for note in file.notes])])


def rows(file: Annotated) -> list[Row]:
    """All lines of a file, with its notes below them."""
    notes: dict[int, list[Markup]] = {}
    for note in file.notes:
        span = note.span
        after = span.end_line if span.end_line - span.line < _LONG else span.line
        notes.setdefault(min(max(after, 1), len(file.lines)), []).append(note.html)
    referred = {line for note in file.notes for line in (note.span.line, *note.lines)} | set(file.gutter or ())
    source = highlighted(file.lines, ranges((note.span for note in file.notes if note.marked), file.lines))
    return [
        Row(
            number=number,
            id=f"{file.id}-{number}" if number in referred else "",
            never=number in file.never,
            html=html,
            gutter=None if file.gutter is None else file.gutter.get(number, Markup()),
            notes=notes.get(number, []),
        )
        for number, html in enumerate(source, start=1)
    ]


def _blocks(lines: Sequence[Row], *, whole: bool) -> list[Block]:
    """The lines, with those far from a note folded, or left out if the file is not shown as a whole."""
    near: set[int] = set()
    for row in lines:
        if row.notes or row.id:
            near.update(range(row.number - _AROUND, row.number + _AROUND + 1))
    blocks: list[Block] = []
    for close, group in groupby(lines, lambda row: row.number in near):
        part_of = list(group)
        kind = "shown" if close or len(part_of) <= _FOLD else "folded" if whole else "left-out"
        blocks.append(Block(kind, len(part_of), [] if kind == "left-out" else part_of))
    return blocks
