"""GitLab's code quality report, a subset of the Code Climate format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchlint.model import Finding, Problem, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.observed import seen_lines
from torchlint.report.shared import dump, file_lines, in_notebook, slashed

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(run: RunResult, options: ReportOptions) -> str:
    """An array with one issue for each finding and each problem."""
    issues = [_finding(f, options) for f in run.findings] + [_problem(p) for p in run.problems]
    return dump(list(_distinct(issues)))


def _finding(finding: Finding, options: ReportOptions) -> dict[str, Any]:
    first, last = file_lines(finding, options)
    return {
        "type": "issue",
        "check_name": f"{finding.rule} {finding.name}",
        "description": "; ".join([in_notebook(finding) + finding.message, *seen_lines(finding)]),
        "categories": ["Performance"],
        "severity": SEVERITIES[finding.severity],
        "fingerprint": finding.fingerprint or _digest(finding.rule, finding.path, finding.message),
        "location": _location(finding.path, first or 1, last or first or 1),
    }


def _problem(problem: Problem) -> dict[str, Any]:
    line = problem.line or 1
    return {
        "type": "issue",
        "check_name": "torchlint",
        "description": problem.message,
        "categories": ["Bug Risk"],
        "severity": "critical",
        "fingerprint": _digest("problem", problem.path, problem.message),
        "location": _location(problem.path, line, line),
    }


def _location(path: str, begin: int, end: int) -> dict[str, Any]:
    return {"path": slashed(path), "lines": {"begin": begin, "end": end}}


def _distinct(issues: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    # GitLab shows only one of several issues with the same fingerprint.
    seen: dict[str, int] = {}
    for issue in issues:
        print_ = issue["fingerprint"]
        seen[print_] = seen.get(print_, 0) + 1
        yield issue if seen[print_] == 1 else {**issue, "fingerprint": _digest(print_, str(seen[print_]))}


def _digest(*parts: str) -> str:
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
