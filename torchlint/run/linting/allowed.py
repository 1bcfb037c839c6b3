"""Waits that the project accepts: in contexts and beside comments that the configuration names (``allowed-waits``)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchlint.model import UNUSED_SUPPRESSION, Finding, Severity, Span
from torchlint.text.comments import comments
from torchlint.text.lines import Places

_ABOUT = ("TL1", "TL2", "TL3")  # rules about copies and waits
_NAME = "unused-suppression"


class _Allowance(NamedTuple):
    """The lines that a context or a comment covers, and its own place; without a reason, a comment covers nothing."""

    first: int
    last: int
    span: Span
    what: str
    has_reason: bool


class AllowedWaits:
    """The allowances of one file. Records which of them are used."""

    def __init__(self, text: str, allowed: Sequence[str]) -> None:
        self._every: list[_Allowance] = []
        self._used: set[_Allowance] = set()
        marks = [each.lstrip("# ").rstrip(":") for each in allowed if each.startswith("#")]
        names = [each for each in allowed if not each.startswith("#")]
        if marks and any(mark in text for mark in marks):
            self._every += _commented(text, marks)
        if names and any(name.rpartition(".")[2] in text for name in names):
            self._every += _contexts(text, names)

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is about a wait that is accepted."""
        if not finding.rule.startswith(_ABOUT) or not self._every:
            return False
        first, last = finding.statement or (finding.span.line, finding.span.end_line)
        return self.allow(first, last, finding.span.line)

    def allow(self, first: int, last: int, line: int, *, comments: bool = True) -> bool:
        """Whether a wait at a line is accepted, in a statement of these lines."""
        found = [a for a in self._every if a.has_reason and a.first <= last and first <= a.last]
        inner = [a for a in found if (comments if a.what.startswith("#") else a.first <= line <= a.last)]
        self._used.update(inner)
        return bool(inner)

    def unused(self, path: str) -> Iterator[Finding]:
        """Findings about comments that cover nothing, or that give no reason."""
        for one in self._every:
            if one.has_reason and (one in self._used or not one.what.startswith("#")):
                continue
            problem = (
                f"unused suppression: no wait is found at `{one.what}`; remove it"
                if one.has_reason
                else f"`{one.what}` gives no reason, so it allows nothing; write `{one.what}: why the host waits here`"
            )
            yield Finding(UNUSED_SUPPRESSION, _NAME, "lint", Severity.INFO, path, one.span, problem)


def _commented(text: str, marks: Sequence[str]) -> Iterator[_Allowance]:
    written = "|".join(map(re.escape, sorted(marks, key=len, reverse=True)))
    pattern = re.compile(rf"#[ \t]*(?P<mark>{written})(?![\w-])(?:[ \t]*:(?P<reason>[^#\r\n]*))?")
    places = Places(text)
    for start, end in comments(text):
        found = pattern.search(text, start, end)
        if found is not None:
            span = places.span(*found.span())
            yield _Allowance(span.line, span.line, span, f"# {found['mark']}", bool((found["reason"] or "").strip()))


def _contexts(text: str, names: Sequence[str]) -> Iterator[_Allowance]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in (each for each in ast.walk(tree) if isinstance(each, (ast.With, ast.AsyncWith))):
        for item in node.items:
            call = item.context_expr
            written = ast.unparse(call.func if isinstance(call, ast.Call) else call)
            if any(written == name or written.rpartition(".")[2] == name.rpartition(".")[2] for name in names):
                last = node.end_lineno or node.lineno
                yield _Allowance(node.lineno, last, Span(node.lineno, 1, node.lineno, 1), written, has_reason=True)
