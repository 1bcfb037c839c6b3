"""Which findings are on changed lines.

Lines are those of the linted text, which for a notebook is the module of its cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from torchlint.model import SYNTAX_ERROR, Finding
from torchlint.run.discovery import linted
from torchlint.run.discovery.sources import is_notebook

Ranges = tuple[tuple[int, int], ...]  # of lines, in order, with the last one


class ChangedLines:
    """The changed lines of files by path. ``contents`` is linted in place of what is on disk, where it is given."""

    def __init__(self, lines: Mapping[str, Ranges], contents: Mapping[str, bytes]) -> None:
        self._lines, self._contents = lines, contents
        self._linted: dict[str, tuple[bytes, Ranges]] = {}
        self._fixed: dict[str, tuple[bytes, Ranges]] = {}

    def has(self, finding: Finding, fixed: tuple[bytes, bytes] | None = None) -> bool:
        """Whether a line of a finding has changed; ``fixed`` is the linted text before and after the fixes so far.

        A syntax error counts if anything in its file has changed: it shows where parsing failed, not what is wrong.
        """
        ranges = self._lines.get(finding.path, ())
        if not ranges or finding.rule == SYNTAX_ERROR:
            return bool(ranges)
        code, ranges = self._of(finding.path, ranges)
        if fixed is not None and fixed[0] != fixed[1]:
            code, ranges = self._after(finding.path, ranges, *fixed)
        start, end = linted.lines_of(finding, code)
        return any(first <= end and start <= last for first, last in ranges)

    def _of(self, path: str, ranges: Ranges) -> tuple[bytes, Ranges]:
        """The linted text and its changed lines."""
        known = self._linted.get(path)
        if known is None:
            data = linted.data(path, self._contents)
            if is_notebook(path):
                known = linted.module(data), ranges
            elif data.count(b"\r") != data.count(b"\r\n"):
                known = data, ((1, len(data) + 1),)  # git does not end lines where Python does
            else:
                known = data, ranges
            self._linted[path] = known
        return known

    def _after(self, path: str, ranges: Ranges, before: bytes, after: bytes) -> tuple[bytes, Ranges]:
        """Where the changed lines are after fixes. What fixes have changed counts as changed."""
        known = self._fixed.get(path)
        if known is None or known[0] != after:
            known = self._fixed[path] = after, moved(ranges, before, after)
        return known


def moved(ranges: Ranges, before: bytes, after: bytes) -> Ranges:
    """The ranges of lines in another version of a text, and all lines that are only in that version."""
    found = []
    matcher = SequenceMatcher(None, before.split(b"\n"), after.split(b"\n"))
    for what, start, end, new_start, new_end in matcher.get_opcodes():
        if what != "equal":
            found.append((new_start + 1, new_end))
            continue
        for first, last in ranges:
            low, high = max(first, start + 1), min(last, end)
            found.append((low - start + new_start, high - start + new_start))
    return tuple((first, last) for first, last in found if first <= last)


def new_in_notebook(before: bytes, after: bytes) -> Ranges:
    """The lines of the module of a notebook that are new."""
    ranges = moved((), linted.module(before), linted.module(after))
    if ranges or linted.cells(before) == linted.cells(after):
        return ranges
    return ((0, 0),)  # in a cell that is not part of the module, since it is not valid Python
