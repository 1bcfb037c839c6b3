"""Findings that the text report does not show one by one: a line for each rule."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.model import Finding, RuleInfo
from torchlint.report.cells import width
from torchlint.report.shared import place, plural
from torchlint.report.style import BOLD, COLORS, Style
from torchlint.text.visible import visible


def table(findings: Sequence[Finding], rules: dict[str, RuleInfo], style: Style) -> list[str]:
    """The rules of these findings, the most frequent first, with how many there are and in how many files."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.rule, []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].rule))
    ids, names = (max(map(width, column)) for column in zip(*map(_columns, ordered), strict=True))
    return [_line(group, rules, style, (ids, names)) for group in ordered]


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
