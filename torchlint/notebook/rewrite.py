"""Writes changed sources of cells into the text of a notebook, and leaves every other byte alone.

A character that stays is written as it was, escaped or not. A list of lines, which
Jupyter writes, stays one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from torchlint.notebook.document import NotebookProblem, decoded, document
from torchlint.notebook.positions import Source, characters, sources

_REFUSED = "a fix would have changed more than the code of a cell; please report it"
_MOST_PAIRS = 4_000_000  # of lines that are compared with each other
_ESCAPED = re.compile(r"\\u(?!00[01])[0-9a-fA-F]{4}")


def rewritten(data: bytes, before: Mapping[int, str], changed: Mapping[int, str]) -> bytes:
    """The notebook with other sources of some cells, by number; ``before`` are those of all its Python cells.

    Raises :class:`NotebookProblem`.
    """
    text = decoded(data)
    places = sources(text)
    ascii_only = text.isascii() and _ESCAPED.search(text) is not None
    parts: list[str] = []
    position = 0
    for number, new in sorted(changed.items()):
        place = places[number - 1] if number <= len(places) else None
        if place is None:
            raise NotebookProblem(_REFUSED)
        parts += [text[position : place.start], _value(text, place, new, ascii_only=ascii_only)]
        position = place.end
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    result = mark + "".join([*parts, text[position:]]).encode()
    _check(result, {**before, **changed})
    return result


def _check(result: bytes, wanted: Mapping[int, str]) -> None:
    """Make sure that these are the sources of the Python cells now."""
    if {cell.number: cell.source for cell in document(result).cells if cell.is_python} != wanted:
        raise NotebookProblem(_REFUSED)


def _value(text: str, place: Source, new: str, *, ascii_only: bool) -> str:
    """The JSON value of a source."""
    parts = [characters(part) for part in place.parts(text)]
    old = [character for part in parts for character in part]
    written = list(_written(old, new, ascii_only=ascii_only))
    if text[place.start] != "[":
        return f'"{"".join(written)}"'
    values = ["".join(character for character, _ in part) for part in parts]
    ends = _ends(new.splitlines(keepends=True)) if _is_by_lines(values) else _moved_ends(values, new)
    strings = [f'"{"".join(written[first:last])}"' for first, last in pairwise([0, *ends])]
    return _list(text, place, strings)


def _is_by_lines(values: Sequence[str]) -> bool:
    return list(values) == "".join(values).splitlines(keepends=True)


def _ends(parts: Sequence[str]) -> list[int]:
    return list(accumulate(map(len, parts)))


def _moved_ends(values: Sequence[str], new: str) -> list[int]:
    """Where the strings of an unusual list end in the new text: only the last one can change in length."""
    return [*(min(end, len(new)) for end in _ends(values)[:-1]), len(new)]


def _list(text: str, place: Source, strings: Sequence[str]) -> str:
    """A list of strings with the space that the old one has between its own."""
    starts = [place.start + 1, *(end for _, end in place.strings)]
    ends = [*(start for start, _ in place.strings), place.end - 1]
    gaps = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    between = gaps[1] if len(gaps) > 2 else f",{gaps[0]}" if gaps[0] else ", "
    inner = gaps[1:-1]
    if len(inner) != len(strings) - 1:
        inner = [between] * (len(strings) - 1)
    joined = "".join(part for pair in zip(strings, [*inner, gaps[-1]], strict=True) for part in pair)
    return f"[{gaps[0]}{joined}]"


def _written(old: Sequence[tuple[str, str]], new: str, *, ascii_only: bool) -> Iterator[str]:
    """How each character of the new text is written: like the same character of the old text where there is one."""
    before = "".join(character for character, _ in old)
    for kind, first, last, start, end in _differences(before, new):
        if kind == "equal":
            yield from (written for _, written in old[first:last])
        else:
            yield from (json.dumps(character, ensure_ascii=ascii_only)[1:-1] for character in new[start:end])


def _differences(before: str, after: str) -> Iterator[tuple[str, int, int, int, int]]:
    """Equal and different ranges of two texts: compared by lines, and within a changed line by its ends."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    at, to = [0, *_ends(old)], [0, *_ends(new)]
    for kind, i, j, k, m in _line_differences(old, new):
        if kind == "equal":
            yield "equal", at[i], at[j], to[k], to[m]
        elif j - i == m - k:
            for number in range(j - i):
                yield from _in_line(old[i + number], new[k + number], at[i + number], to[k + number])
        else:
            yield from _in_line("".join(old[i:j]), "".join(new[k:m]), at[i], to[k])


def _line_differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Equal and different ranges of lines.

    Lines between the first and the last difference are compared unless there are so many that it could take minutes:
    then they all count as different.
    """
    head, tail = _common_ends(old, new)
    last, end = len(old) - tail, len(new) - tail
    yield "equal", 0, head, 0, head
    if (last - head) * (end - head) > _MOST_PAIRS:
        yield "replace", head, last, head, end
    else:
        for kind, i, j, k, m in SequenceMatcher(None, old[head:last], new[head:end], autojunk=False).get_opcodes():
            yield kind, head + i, head + j, head + k, head + m
    yield "equal", last, len(old), end, len(new)


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many elements at the beginning, and how many others at the end, are the same."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    return head, next((i for i in range(most - head) if old[-1 - i] != new[-1 - i]), most - head)


def _in_line(old: str, new: str, at: int, to: int) -> Iterator[tuple[str, int, int, int, int]]:
    head, tail = _common_ends(old, new)
    yield "equal", at, at + head, to, to + head
    yield "different", at + head, at + len(old) - tail, to + head, to + len(new) - tail
    yield "equal", at + len(old) - tail, at + len(old), to + len(new) - tail, to + len(new)
