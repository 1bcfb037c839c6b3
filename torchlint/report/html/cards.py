"""Findings as parts of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchlint.model import Finding, RuleInfo, Severity
from torchlint.report.html.patches import Patch, patch
from torchlint.report.observed import seen_lines
from torchlint.report.order import by_cost
from torchlint.report.shared import rule_url

_COSTLIEST = 10  # findings that a page begins with


class Card(NamedTuple):
    """A finding with what a page says about it. ``file`` is the id of its file on the page, ``id`` its own.

    ``placed`` says whether the lines of the finding can be on the page, ``seen`` what runs show at it.
    """

    id: str
    file: str
    finding: Finding
    url: str | None
    placed: bool
    patch: Patch | None
    seen: tuple[str, ...] = ()


class Row(NamedTuple):
    """A rule with its findings."""

    rule: str
    name: str
    severity: str
    summary: str
    url: str | None
    findings: int
    fixable: int
    first: str


def card(finding: Finding, file: str, number: int, lines: Sequence[str], rules: dict[str, RuleInfo]) -> Card:
    """The card of a finding."""
    url, seen = rule_url(finding, rules), tuple(seen_lines(finding))
    return Card(f"{file}-n{number}", file, finding, url, bool(lines), patch(finding, lines), seen)


def costliest(cards: Iterable[Card]) -> list[Card]:
    """The findings that cost most, in this order."""
    return sorted(cards, key=lambda one: by_cost(one.finding))[:_COSTLIEST]


def overview(cards: Iterable[Card], rules: dict[str, RuleInfo]) -> list[Row]:
    """The rules that found something: the most severe and most frequent first."""
    groups: dict[str, list[Card]] = {}
    for one in cards:
        groups.setdefault(one.finding.rule, []).append(one)
    rows = [_row(group, rules) for group in groups.values()]
    return sorted(rows, key=lambda row: (-Severity(row.severity).rank, -row.findings, row.rule))


def _row(group: Sequence[Card], rules: dict[str, RuleInfo]) -> Row:
    first = group[0].finding
    known = rules.get(first.rule)
    worst = max((one.finding.severity for one in group), key=lambda severity: severity.rank)
    return Row(
        rule=first.rule,
        name=first.name,
        severity=worst.value,
        summary=known.summary if known else "",
        url=group[0].url,
        findings=len(group),
        fixable=sum(one.finding.fix is not None for one in group),
        first=group[0].id,
    )
