"""Workflow commands, which GitHub Actions turns into annotations."""

from __future__ import annotations

from torchlint.model import Finding, Problem, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.shared import slashed, visible, visible_lines

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(run: RunResult, options: ReportOptions) -> str:  # noqa: ARG001 - every format has this signature
    """One command for each finding and each problem; nothing for a run without any."""
    commands = [_finding(finding) for finding in run.findings] + [_problem(p) for p in run.problems]
    return "".join(f"{command}\n" for command in commands)


def _finding(finding: Finding) -> str:
    span = finding.span
    properties: dict[str, object] = {
        "title": f"{finding.rule} {finding.name}",
        "file": slashed(finding.path),
        "line": span.line,
        "endLine": span.end_line,
    }
    # Annotations have columns only if they are on one line.
    if span.line == span.end_line:
        properties |= {"col": span.column, "endColumn": span.end_column}
    message = [finding.message, *(f"line {e.line}: {e.text}" for e in finding.evidence)]
    return _command(COMMANDS[finding.severity], properties, "\n".join(message))


def _problem(problem: Problem) -> str:
    properties: dict[str, object] = {"title": "torchlint", "file": slashed(problem.path)}
    if problem.line:
        properties["line"] = problem.line
    return _command("error", properties, problem.message)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {written}::{_data(chr(10).join(visible_lines(message)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # A newline in a file name is encoded, not escaped: the name must still match the file.
    ends = {"\r": "%0D", "\n": "%0A", "%": "%25", ":": "%3A", ",": "%2C"}
    return "".join(ends.get(c) or visible(c) for c in text)
