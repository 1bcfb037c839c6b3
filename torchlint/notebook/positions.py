"""Where the sources of cells are in the text of a notebook.

A reader for text that is known to be valid JSON. It skips everything else.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from torchlint.text.lines import split_lines

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_WHOLE_STRING = re.compile(_STRING, re.DOTALL)
# Its values are dropped at once: only their ends are needed.
_SKIP = json.JSONDecoder(object_hook=lambda _: None, parse_int=len)
_SPACE = re.compile(r"[ \t\r\n]*")
_AFTER_KEY = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CHARACTER = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.|.", re.DOTALL)


class Source(NamedTuple):
    """The source of a cell: the range of its value, and those of its strings, with their quotes."""

    start: int
    end: int
    strings: tuple[tuple[int, int], ...]

    def parts(self, text: str) -> list[str]:
        """The strings as they are in the file, without quotes."""
        return [text[start + 1 : end - 1] for start, end in self.strings]


def sources(text: str) -> list[Source | None]:
    """The source of each cell of a notebook that is valid JSON; None for a cell without one.

    Of several equal keys the last one counts, as for ``json``.
    """
    start = _value(text, _SPACE.match(text).end(), "cells")  # type: ignore[union-attr]
    if start is None or text[start] != "[":
        return []
    return [_source(text, cell) for cell in _elements(text, start)]


def _source(text: str, cell: int) -> Source | None:
    start = _value(text, cell, "source") if text[cell] == "{" else None
    if start is None:
        return None
    end = _end(text, start)
    starts = list(_elements(text, start)) if text[start] == "[" else [start]
    return Source(start, end, tuple((first, _end(text, first)) for first in starts))


def _value(text: str, start: int, key: str) -> int | None:
    """Where the value of a key of the object at ``start`` begins."""
    found = None
    for position in _elements(text, start):
        name = _WHOLE_STRING.match(text, position)
        if name is None:
            return None
        after = _AFTER_KEY.match(text, name.end())
        if after is not None and json.loads(name[0]) == key:
            found = after.end()
    return found


def _elements(text: str, start: int) -> Iterator[int]:
    """Where the elements of an array begin, or the keys of an object."""
    is_object = text[start] == "{"
    position = _space(text, start + 1)
    while text[position] not in "]}":
        yield position
        end = _end(text, position)
        if is_object:
            after = _AFTER_KEY.match(text, end)
            assert after is not None
            end = _end(text, after.end())
        position = _space(text, end)
        if text[position] == ",":
            position = _space(text, position + 1)


def _space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None
    return found.end()


def _end(text: str, start: int) -> int:
    """Where the value that begins at ``start`` ends."""
    return _SKIP.raw_decode(text, start)[1]


def characters(written: str) -> list[tuple[str, str]]:
    """The characters of a JSON string without its quotes, each with how it is written."""
    return [(json.loads(f'"{found}"', strict=False), found) for found in _CHARACTER.findall(written)]


def line_numbers(text: str) -> dict[tuple[int, int], int]:
    """The line of the file for each line of each cell, by the number of the cell and that of the line in it."""
    ends = [end.start() for end in re.finditer("\n", text)]
    found: dict[tuple[int, int], int] = {}
    for cell, source in enumerate(sources(text), start=1):
        line, begins = 1, True
        for start, end in source.strings if source is not None else ():
            here = bisect_right(ends, start) + 1
            value = json.loads(text[start:end], strict=False)
            if begins:
                found[cell, line] = here
            for _ in range(len(split_lines(value)) - 1):
                line += 1
                found[cell, line] = here
            begins = value.endswith(("\r", "\n")) or (begins and not value)
    return found
