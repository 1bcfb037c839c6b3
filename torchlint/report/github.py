"""Workflow commands, which GitHub Actions turns into annotations."""

from __future__ import annotations

from torchlint.model import Finding, Problem, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.observed import seen_lines
from torchlint.report.order import gravest_first
from torchlint.report.shared import evidence_lines, file_lines, in_notebook, slashed
from torchlint.text.visible import escaped

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(run: RunResult, options: ReportOptions) -> str:
    """One command for each problem and each finding; nothing for a run without any.

    GitHub shows only the first ten of each severity, so what costs most comes first.
    """
    commands = [_problem(p) for p in run.problems] + [_finding(f, options) for f in gravest_first(run.findings)]
    return "".join(f"{command}\n" for command in commands)


def _finding(finding: Finding, options: ReportOptions) -> str:
    properties: dict[str, object] = {"title": f"{finding.rule} {finding.name}", "file": slashed(finding.path)}
    first, last = file_lines(finding, options)
    if first is not None:
        properties |= {"line": first, "endLine": last}
    # Annotations have columns only if they are on one line; those of a notebook's file are not those of its code.
    if first == last and finding.cell is None:
        properties |= {"col": finding.span.column, "endColumn": finding.span.end_column}
    message = [in_notebook(finding) + finding.message, *evidence_lines(finding.evidence), *seen_lines(finding)]
    return _command(COMMANDS[finding.severity], properties, "\n".join(message))


def _problem(problem: Problem) -> str:
    properties: dict[str, object] = {"title": "torchlint", "file": slashed(problem.path)}
    if problem.line:
        properties["line"] = problem.line
    return _command("error", properties, problem.message)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(map(escaped, lines)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # A newline in a file name is encoded, not escaped: the name must still match the file.
    ends = {"\r": "%0D", "\n": "%0A", "%": "%25", ":": "%3A", ",": "%2C"}
    return "".join(ends.get(c) or escaped(c) for c in text)
