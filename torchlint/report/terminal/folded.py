"""Findings that the text report does not show one by one: a line for each rule, or for each rule and file."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.model import Finding, RuleInfo, Severity
from torchlint.report.cells import width
from torchlint.report.shared import in_words, place, plural
from torchlint.report.terminal.style import BOLD, COLORS, Style
from torchlint.text.visible import visible

_LINES = 5  # further lines of a file that are listed


def table(findings: Sequence[Finding], rules: dict[str, RuleInfo], style: Style) -> list[str]:
    """The rules of these findings, the most frequent first, with how many there are and in how many files."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.rule, []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].rule))
    ids, names = (max(map(width, column)) for column in zip(*map(_columns, ordered), strict=True))
    return [_line(group, rules, style, (ids, names)) for group in ordered]


def by_file(findings: Sequence[Finding], rules: dict[str, RuleInfo], style: Style) -> list[str]:
    """One line for each rule in each file, in the given order, with the lines of the findings."""
    groups: dict[tuple[str, str, Severity], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.path, finding.rule, finding.severity), []).append(finding)
    return [_of_file(group, rules, style) for group in groups.values()]


def _of_file(group: Sequence[Finding], rules: dict[str, RuleInfo], style: Style) -> str:
    first, others = group[0], group[1:]
    where = style.paint(place(first.path, first.span.line, first.span.column, cell=first.cell), BOLD)
    name = style.paint(visible(first.name), BOLD)
    severity = style.paint(first.severity.value, COLORS[first.severity])
    line = f"{where}: {style.rule(first, rules)} {name} {severity}"
    if not others:
        return line
    lines = [place("", other.span.line, cell=other.cell).lstrip(":") for other in others[:_LINES]]
    more = [f"{len(others) - _LINES} more"] if len(others) > _LINES else []
    return f"{line}, and in {'lines' if len(others) > 1 else 'line'} {in_words([*lines, *more])}"


def _columns(group: Sequence[Finding]) -> tuple[str, str]:
    return visible(group[0].rule), visible(group[0].name)


def _line(group: Sequence[Finding], rules: dict[str, RuleInfo], style: Style, widths: tuple[int, int]) -> str:
    first = group[0]
    rule, name = _columns(group)
    files = {finding.path for finding in group}
    where = f"in {plural(len(files), 'file')}" if len(group) > 1 else ""
    if len(group) == 1:
        where = f"at {place(first.path, first.span.line, first.span.column, cell=first.cell)}"
    cells = [
        style.rule(first, rules) + " " * (widths[0] - width(rule)),
        style.paint(name, BOLD) + " " * (widths[1] - width(name)),
        style.paint(first.severity.value, COLORS[first.severity]),
        f"{plural(len(group), 'finding')} {where}",
    ]
    return "  ".join(cells).replace("  ", " ", 1)
