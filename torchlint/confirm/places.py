"""Places: maps spans of findings (characters from 1) to sites of a run (UTF-8 bytes from 0)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torchlint.base.limits import content
from torchlint.model import Finding, Span
from torchlint.text.columns import of_bytes
from torchlint.text.decode import DecodeProblem, decode
from torchlint.text.lines import split_lines


@dataclass(frozen=True)
class Place:
    """A range in a file in the form of Python's own positions; a column of -1 is unknown."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def known(self) -> bool:
        """Whether the place is in the user's code."""
        return self.path != ""

    @property
    def size(self) -> tuple[int, int]:
        """A key that orders places by size."""
        return (self.end_line - self.line, self.end_column - self.column)

    def overlaps(self, other: Place) -> bool:
        """Whether two places share a character, or a line if columns are unknown."""
        if self.path != other.path:
            return False
        if min(self.column, other.column) < 0:
            return self.line <= other.end_line and other.line <= self.end_line
        return (self.line, self.column) < (other.end_line, other.end_column) and (other.line, other.column) < (
            self.end_line,
            self.end_column,
        )


class Sources:
    """The lines of source files, for converting between columns of characters and of bytes.

    ``kept`` is the content of files when they were run, which may have changed since.
    """

    def __init__(self, kept: Mapping[str, bytes] | None = None) -> None:
        self._kept = kept or {}
        self._lines: dict[str, Sequence[str]] = {}

    def lines(self, path: str) -> Sequence[str]:
        """The lines of a file; empty if it cannot be read."""
        if path not in self._lines:
            try:
                self._lines[path] = split_lines(decode(self._kept.get(path) or content(path)))
            except (OSError, DecodeProblem):
                self._lines[path] = ()
        return self._lines[path]

    def place(self, path: str, span: Span) -> Place:
        """Convert a span to a place."""
        return Place(
            path,
            span.line,
            self._bytes(path, span.line, span.column),
            span.end_line,
            self._bytes(path, span.end_line, span.end_column),
        )

    def point(self, path: str, line: int, column: int) -> Place:
        """One character."""
        return self.place(path, Span(line, column, line, column + 1))

    def column(self, place: Place) -> int:
        """The column of the beginning of a place, in characters from 1."""
        line = self._line(place.path, place.line)
        if not line:  # a notebook cell, or a file that no longer exists
            return max(place.column, 0) + 1
        return of_bytes(line.encode("utf-8", "surrogatepass"), max(place.column, 0))

    def _bytes(self, path: str, line: int, column: int) -> int:
        return len(self._line(path, line)[: column - 1].encode("utf-8", "surrogatepass"))

    def _line(self, path: str, line: int) -> str:
        lines = self.lines(path)
        return lines[line - 1] if 0 < line <= len(lines) else ""


def places_of(finding: Finding, path: str, sources: Sources, *, named: bool) -> list[Place]:
    """The places of a finding: its own span and, if requested, those of its evidence."""
    own = [sources.place(path, finding.span)]
    return own + [sources.point(path, e.line, e.column) for e in finding.evidence if not e.context] if named else own


def real(path: str, base: str) -> str:
    """The real path, as it appears in stack frames."""
    return os.path.realpath(os.path.join(base, path))


def marks_of(
    findings: Mapping[str, Finding], base: str, notes: Mapping[str, str | None]
) -> dict[str, list[dict[str, object]]]:
    """The marks for the runtime, by file, and what to record there beside counts and times."""
    sources = Sources()
    found: dict[str, list[dict[str, object]]] = {}
    for name, finding in findings.items():
        path = real(finding.path, base)
        place = sources.place(path, finding.span)
        span = [place.line, place.column, place.end_line, place.end_column]
        found.setdefault(path, []).append({"id": name, "span": span, "notes": notes.get(name)})
    return found
