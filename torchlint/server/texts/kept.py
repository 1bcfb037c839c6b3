"""The findings of a text that is not Python for the moment: those of the last one that was, at their new lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from torchlint.model import SYNTAX_ERROR, Evidence, Finding
from torchlint.server.texts.documents import Document, Part
from torchlint.text.lines import split_lines

MARK = " (before the last edits)"  # behind the message of a finding that was not found in the present text


class Kept:
    """Remembers the findings of each document until its text is Python again."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Document, tuple[Finding, ...]]] = {}

    def beside(self, document: Document, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The findings of a version of a document; beside syntax errors, also earlier ones on lines that are the same.

        Earlier ones have a mark in their message, and no fix. Versions are given in their order.
        """
        if not any(finding.rule == SYNTAX_ERROR for finding in findings):
            self._last[document.uri] = document, findings
            return findings
        if document.uri not in self._last:
            return findings
        moved = tuple(_moved(*self._last[document.uri], document))
        self._last[document.uri] = document, moved
        present = set(map(_place, findings))
        earlier = [f._replace(message=f.message + MARK) for f in moved if _place(f) not in present]
        return tuple(sorted((*findings, *earlier), key=lambda finding: finding.sort_key))

    def clear(self) -> None:
        """Forget all findings: rules or settings are others now."""
        self._last.clear()

    def forget(self, uri: str) -> None:
        """Forget the findings of a document."""
        self._last.pop(uri, None)


class _Shift(NamedTuple):
    """What edits between two versions of a text did to its lines.

    The first ``head`` lines are the same, and those from ``tail`` on are ``by`` lines further down. ``cell`` is the
    number of the text in the later version.
    """

    cell: int | None
    head: int
    tail: int
    by: int

    @classmethod
    def between(cls, before: str, after: str, cell: int | None) -> _Shift:
        old, new = split_lines(before), split_lines(after)
        head = _equal(old, new)
        end = _equal(old[head:][::-1], new[head:][::-1])
        return cls(cell, head, len(old) - end + 1, len(new) - len(old))

    def of(self, first: int, last: int) -> int | None:
        """By how many lines lines have moved; None if edits changed one of them, or what is between them."""
        return 0 if last <= self.head else self.by if first >= self.tail else None


def _equal(some: Sequence[str], others: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))


def _moved(before: Document, findings: Iterable[Finding], after: Document) -> Iterator[Finding]:
    """Findings of an earlier version at their places in a later one, without those on lines that have changed."""
    shifts = _shifts(before.parts(), after.parts())
    for finding in findings:
        shift, span = shifts.get(finding.cell), finding.span
        by = shift.of(span.line, span.end_line) if shift is not None else None
        if shift is not None and by is not None:
            yield finding._replace(
                span=span._replace(line=span.line + by, end_line=span.end_line + by),
                cell=shift.cell,
                evidence=tuple(_moved_evidence(finding.evidence, shifts)),
                fix=None,
                statement=None,
                seen=(),
            )


def _moved_evidence(evidence: Iterable[Evidence], shifts: Mapping[int | None, _Shift]) -> Iterator[Evidence]:
    for each in evidence:
        shift = shifts.get(each.cell)
        by = shift.of(each.line, each.line) if shift is not None else None
        if shift is not None and by is not None:
            yield each._replace(line=each.line + by, cell=shift.cell)


def _shifts(before: Mapping[int | None, Part], after: Mapping[int | None, Part]) -> dict[int | None, _Shift]:
    """For each text of the earlier version that is still there, what edits did to it."""
    now = {part.uri: (cell, part) for cell, part in after.items()}
    kept = [(cell, part, *now[part.uri]) for cell, part in before.items() if part.uri in now]
    return {cell: _Shift.between(old.text, new.text, number) for cell, old, number, new in kept}


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.cell, finding.span
