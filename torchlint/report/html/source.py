"""Source lines as HTML: highlighted, with flagged ranges marked, and with everything invisible written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from torchlint.model import Span
from torchlint.text.visible import shows

Range = tuple[int, int]
# Larger files are shown without colors, which take a second for each half megabyte.
_COLORED = 400_000
# Longer lines are data, and are cut.
_COLUMNS = 500
_TAB = "    "
_CLASSES = (
    ("Comment", "c"),
    ("Literal.String", "s"),
    ("Literal.Number", "m"),
    ("Keyword", "k"),
    ("Operator.Word", "k"),
    ("Name.Decorator", "d"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
)


def ranges(spans: Iterable[Span], lines: Sequence[str]) -> dict[int, list[Range]]:
    """The flagged columns of each line, from 0; the indentation of further lines of a span is not marked."""
    found: dict[int, list[Range]] = {}
    for span in spans:
        for number in range(span.line, min(span.end_line, len(lines)) + 1):
            line = lines[number - 1]
            start = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
            end = span.end_column - 1 if number == span.end_line else len(line.rstrip())
            if end > start:
                found.setdefault(number, []).append((start, end))
    return found


def highlighted(lines: Sequence[str], marked: Mapping[int, Sequence[Range]]) -> list[Markup]:
    """The lines of a file as HTML."""
    split: list[list[tuple[str, str]]] = [[]]
    for name, value in _pieces("\n".join(lines)):
        first, *others = value.split("\n")
        split[-1].append((name, first))
        split += [[(name, other)] for other in others]
    return [_line(pieces, marked.get(number, ())) for number, pieces in enumerate(split, start=1)]


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > _COLORED:
        yield "", text
        return
    from pygments.lexers.python import PythonLexer

    for _, token, value in PythonLexer().get_tokens_unprocessed(text):
        yield _class(token), value


@cache
def _class(token: Any) -> str:
    name = str(token).removeprefix("Token.")
    return next((short for prefix, short in _CLASSES if name.startswith(prefix)), "")


def _line(pieces: Iterable[tuple[str, str]], marked: Sequence[Range]) -> Markup:
    shown: list[Markup] = []
    at = 0
    for name, value in pieces:
        for start, end, inside in _cut(at, at + len(value), marked):
            if start < _COLUMNS:
                shown.append(_piece(name, value[start - at : min(end, _COLUMNS) - at], inside=inside))
        at += len(value)
    if at > _COLUMNS:
        shown.append(Markup('<span class="cut"> {} more characters</span>').format(f"{at - _COLUMNS:,}"))
    return Markup("").join(shown)


def _cut(start: int, end: int, marked: Sequence[Range]) -> Iterator[tuple[int, int, bool]]:
    """The parts of a range that are marked or not."""
    borders = sorted({start, end, *(border for one in marked for border in one if start < border < end)})
    for first, last in pairwise(borders):
        yield first, last, any(begin <= first < stop for begin, stop in marked)


def _piece(name: str, text: str, *, inside: bool) -> Markup:
    if not text:
        return Markup()
    shown = written_out(text)
    if name:
        shown = Markup('<i class="{}">{}</i>').format(name, shown)
    return Markup("<mark>{}</mark>").format(shown) if inside else shown


def written_out(text: str) -> Markup:
    """Text with control and invisible characters written out, so that it can be seen which they are."""
    text = text.replace("\t", _TAB)
    if text.isprintable():
        return escape(text)
    escaped = Markup('<span class="e">{}</span>')
    return Markup("").join(escape(c) if shows(c) else escaped.format(ascii(c)[1:-1]) for c in text)
