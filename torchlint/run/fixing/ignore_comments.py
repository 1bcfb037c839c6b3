"""Writes suppression comments into the text of one file: where they go, and which rules they name.

A comment goes to the end of a line, behind every other comment there: type checkers accept ``# type: ignore`` only
before others. A list of rules that torchlint already finds on a line of the statement gets the rule added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from torchlint.model import Edit, Finding, Span
from torchlint.run.linting.suppress import scan
from torchlint.text.line_ends import Untokenizable, line_ends

DEFAULT_REASON = "existing code"
NO_LINE = "no comment can stand on a line of the statement, which end in strings or with backslashes"
_UNREADABLE = "this version of Python cannot read the file"


class Commented(NamedTuple):
    """The edits that suppress findings, the findings that they suppress, and why others are left."""

    edits: tuple[Edit, ...]
    suppressed: tuple[Finding, ...]
    left: Mapping[Finding, str]


def commented(text: str, findings: Iterable[Finding], reason: str = DEFAULT_REASON) -> Commented:
    """Suppress findings by comments with a reason, one comment for all findings at a line."""
    listed = list(findings)
    try:
        ends = line_ends(text)
    except Untokenizable:
        return Commented((), (), dict.fromkeys(listed, _UNREADABLE))
    lists = scan(text).lists()
    wanted: dict[int, set[str]] = {}
    suppressed: list[Finding] = []
    left: dict[Finding, str] = {}
    for finding in listed:
        lines = _lines_of(finding)
        if any(finding.rule in wanted.get(line, ()) for line in lines):
            suppressed.append(finding)
        elif (line := _place(finding, lines, lists, ends)) is not None:
            wanted.setdefault(line, set()).add(finding.rule)
            suppressed.append(finding)
        else:
            left[finding] = NO_LINE
    edits = (_edit(line, sorted(rules), lists.get(line), ends, reason) for line, rules in sorted(wanted.items()))
    return Commented(tuple(edits), tuple(suppressed), left)


def reason_problem(reason: str) -> str | None:
    """Why a text cannot be the reason in a comment, with advice; None if it can."""
    if not reason.strip():
        return "is empty; give a few words, such as 'existing code'"
    if not reason.isprintable():
        return "must be one line without control characters"
    if any(not part[:1].isdigit() for part in reason.split("#")[1:]):  # `#12` is the number of an issue
        return "contains a `#`, with which another comment would begin; leave it out"
    return None


def _lines_of(finding: Finding) -> Sequence[int]:
    first, last = finding.statement or (1, 0)
    return range(first, last + 1)


def _place(finding: Finding, lines: Sequence[int], lists: Collection[int], ends: Mapping[int, int]) -> int | None:
    """The line for the comment: one with a list of rules, else the first one possible from the finding on."""
    ordered = [line for line in lines if line >= finding.span.line] + [
        line for line in reversed(lines) if line < finding.span.line
    ]
    return next((line for valid in (lists, ends) for line in ordered if line in valid), None)


def _edit(line: int, rules: Sequence[str], list_end: int | None, ends: Mapping[int, int], reason: str) -> Edit:
    if list_end is not None:
        return Edit(Span(line, list_end, line, list_end), "".join(f", {rule}" for rule in rules))
    column = ends[line]
    return Edit(Span(line, column, line, column), f"  # torchlint: ignore[{', '.join(rules)}] {reason.strip()}")
