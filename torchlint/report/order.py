"""The order of findings in the text report: what costs most comes first, and what speaks of one expression is together.

The project's own code comes before tests and copies of other projects' code. Then severity counts before heat, and heat
before the kind of cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchlint.model import Finding, Span

# Topics: what makes the host wait for the device or moves data comes before what makes kernels slower, and that before
# what costs no time.
TOPICS = (
    "synchronization",
    "transfers",
    "loading",
    "copies",
    "precision",
    "compile",
    "optimization",
    "backends",
    "portability",
)
_KINDS = {topic: kind for kind, topic in enumerate(TOPICS)}
# Findings that speak of one expression, and expressions of which the same is said.
Expression = list[Finding]
Block = list[Expression]
_Order = tuple[bool, float, int, int, int, tuple[object, ...]]
# Where projects keep tests and copies of other projects: usual names of folders, and of pytest's modules.
_ASIDE = re.compile(
    r"(?:^|[\\/])(?:(?:tests?|testing|third[_-]?party|3rd[_-]?party|vendor(?:ed)?|extern(?:als?)?|submodules)[\\/]"
    r"|(?:test_[^\\/]*|[^\\/]*_test)\.\w+$)",
    re.IGNORECASE,
)


def by_cost(finding: Finding) -> _Order:
    """The sort key: own code, time in recordings, severity, heat (unknown is like once), topic, place."""
    heat = finding.heat.rank if finding.heat is not None else 0
    aside = _ASIDE.search(finding.path) is not None
    time = sum(one.microseconds / (one.steps or 1) for one in finding.seen)
    return aside, -time, -finding.severity.rank, -heat, _KINDS.get(finding.topic, len(TOPICS)), finding.sort_key


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by severity and then by cost, for lists of which only the beginning is shown."""
    return sorted(findings, key=lambda one: (-one.severity.rank, by_cost(one)))


def blocks(findings: Iterable[Finding]) -> list[Block]:
    """The findings by cost. Those that speak of one expression are together, and so are neighbors with one message."""
    ordered = sorted((sorted(one, key=by_cost) for one in _expressions(findings)), key=lambda one: by_cost(one[0]))
    found: list[Block] = []
    for expression in ordered:
        if found and _same(expression, found[-1][-1]):
            found[-1].append(expression)
        else:
            found.append([expression])
    return found


def _same(one: Expression, other: Expression) -> bool:
    """Whether a single finding each says the same of two expressions of one file."""
    return len(one) == len(other) == 1 and _said(one[0]) == _said(other[0])


def _said(finding: Finding) -> tuple[object, ...]:
    return finding.path, finding.cell, finding.rule, finding.name, finding.severity, finding.message


def widest(block: Iterable[Finding]) -> Span:
    """The span that contains the spans of a block."""
    return min((finding.span for finding in block), key=outside_in)


def _expressions(findings: Iterable[Finding]) -> list[Expression]:
    """Findings with one span, or with spans inside another that begins on the same line."""
    found: list[Expression] = []
    outer: Finding | None = None
    for finding in sorted(findings, key=lambda one: (one.path, one.cell or 0, outside_in(one.span))):
        if outer is not None and _inside(finding, outer):
            found[-1].append(finding)
        else:
            found.append([finding])
            outer = finding
    return found


def outside_in(span: Span) -> tuple[int, ...]:
    """The sort key by which a span comes before those inside it."""
    return span.line, span.column, -span.end_line, -span.end_column


def _inside(finding: Finding, outer: Finding) -> bool:
    same = (finding.path, finding.cell, finding.span.line) == (outer.path, outer.cell, outer.span.line)
    return same and finding.span[2:] <= outer.span[2:] and outer.span.column <= finding.span.column
