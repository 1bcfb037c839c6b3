"""Findings of a rule that are undecided for the same reason, as one entry of the text report."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import Finding
from torchlint.report.shared import place

_FOLDED = (Status.UNKNOWN, Status.NOT_REACHED)
_PLACES = 5
Pair = tuple[Finding, Verdict]


def folded(pairs: Sequence[Pair], *, verbose: bool = False) -> list[list[Pair]]:
    """Findings in their order, those of one rule with the same reason together; ``verbose`` leaves each by itself."""
    groups: dict[object, list[Pair]] = {}
    for number, (finding, verdict) in enumerate(pairs):
        alone = verbose or verdict.status not in _FOLDED
        key = number if alone else (verdict.status, finding.rule, verdict.reason)
        groups.setdefault(key, []).append((finding, verdict))
    return list(groups.values())


def places(group: Sequence[Pair]) -> str:
    """The places of a group in words: ``3 places: train.py:10, train.py:20, eval.py:3``."""
    named = [place(finding.path, finding.span.line, cell=finding.cell) for finding, _ in group[:_PLACES]]
    more = f" and {len(group) - _PLACES} more (--verbose names them)" if len(group) > _PLACES else ""
    return f"{len(group)} places: {', '.join(named)}{more}"
