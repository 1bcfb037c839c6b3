"""Findings of one cause are reported as one: what a file does throughout is one thing to decide, and not forty."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.model import Finding, RunResult
from torchlint.report.shared import listed

_NAMED = 5  # lines that a message lists


def by_cause(run: RunResult, *, whole: bool = False) -> RunResult:
    """The run with one finding for all places of a file that have the same rule, severity and cause.

    It stands at the first place, with the fix of the first place that has one, and names the others in its message: all
    of them with ``whole``, or the first few.
    """
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(run.findings):
        key = (finding.path, finding.rule, finding.severity, finding.cause) if finding.cause else number
        groups.setdefault(key, []).append(finding)
    return run._replace(
        findings=tuple(_joined(group, whole=whole) if len(group) > 1 else group[0] for group in groups.values())
    )


def places(finding: Finding) -> tuple[Finding, ...]:
    """The findings that a finding stands for, in the order of the file: at least itself."""
    return finding.places or (finding,)


def _joined(group: Sequence[Finding], *, whole: bool) -> Finding:
    first = group[0]
    message = f"{len(group)} {first.cause} in this file ({_lines(group, whole=whole)}). In the first, {first.message}"
    fix = next((finding.fix for finding in group if finding.fix is not None), None)
    seen = tuple(dict.fromkeys(one for finding in group for one in finding.seen))
    return first._replace(message=message, fix=fix, places=tuple(group), seen=seen)


def _lines(group: Sequence[Finding], *, whole: bool) -> str:
    """``lines 4, 7 and 12``, in a notebook ``cell 2, line 4; cell 3, line 1``; of many, only the first few."""
    cells = group[0].cell is not None
    numbers = list(
        dict.fromkeys(f"cell {each.cell}, line {each.span.line}" if cells else str(each.span.line) for each in group)
    )
    if not cells:
        return f"{'line' if len(numbers) == 1 else 'lines'} {listed(numbers, _NAMED, whole=whole)}"
    rest = 0 if whole else len(numbers) - _NAMED
    return "; ".join([*numbers[:_NAMED], f"{rest} more"] if rest > 0 else numbers)
