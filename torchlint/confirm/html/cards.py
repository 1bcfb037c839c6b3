"""Findings with their verdicts, as cards of the page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from torchlint.confirm.by_line import in_words
from torchlint.confirm.comparisons import comparisons, key_of
from torchlint.confirm.evidence import Event
from torchlint.confirm.html.words import SHOWN, happened, ranks
from torchlint.confirm.order import Order
from torchlint.confirm.places import real
from torchlint.confirm.result import Result
from torchlint.confirm.text import figures
from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import Finding, RuleInfo, Safety
from torchlint.report.html.patches import Patch, patch
from torchlint.report.shared import rule_url

_EVENTS = 6


class Card(NamedTuple):
    """A finding with its verdict. ``file`` is the id of its file on the page, ``id`` its own.

    ``cost`` is from 0 to 1: its part of the costliest one. ``placed`` says whether its lines can be on the page.
    """

    id: str
    file: str
    finding: Finding
    verdict: Verdict
    kind: str
    url: str | None
    figures: str
    by_line: str
    burst: str
    ranks: str
    events: tuple[str, ...]
    compare: str
    compared: str
    patch: Patch | None
    placed: bool
    cost: float


def cards(
    result: Result, rules: dict[str, RuleInfo], files: dict[str, str], lines: dict[str, Sequence[str]]
) -> list[Card]:
    """The cards of all findings, in the order of the report; ``files`` are ids by real path, ``lines`` their text."""
    pairs = result.pairs
    known = comparisons(result.order)
    most = max((_weight(verdict, result) for _, verdict in pairs), default=0.0)
    found = []
    for number, (finding, verdict) in enumerate(pairs, start=1):
        path = real(finding.path, result.order.base)
        events = _events(finding, verdict, path, result)
        source = lines.get(path, ())
        found.append(
            Card(
                id=f"c{number}",
                file=files.get(path, ""),
                finding=finding,
                verdict=verdict,
                kind=verdict.status.value.replace(" ", "-"),
                url=rule_url(finding, rules),
                figures=figures(verdict, result),
                by_line=in_words(verdict.lines),
                burst=verdict.burst.text if verdict.burst is not None else "",
                ranks=ranks(events, result.run),
                events=tuple(map(happened, events[:_EVENTS])),
                compare=compare(finding, result),
                compared=known.get(key_of(finding), ""),
                patch=patch(finding, source),
                placed=bool(source) and finding.cell is None,
                cost=_weight(verdict, result) / most if most else 0.0,
            )
        )
    return found


def _weight(verdict: Verdict, result: Result) -> float:
    if verdict.status is not Status.CONFIRMED:
        return 0.0
    return (verdict.cost or 0.0) * max(result.run.phases[verdict.phase or result.run.main].count, 1)


def _events(finding: Finding, verdict: Verdict, path: str, result: Result) -> list[Event]:
    """The events of a verdict, or what happened at the lines of a finding without one."""
    span = finding.span
    at_lines = (e for e in result.run.events if e.place.path == path and span.line <= e.place.line <= span.end_line)
    return [event for event in verdict.events or at_lines if event.kind in SHOWN]


def compare(finding: Finding, result: Result) -> str:
    """The command that measures what a fix is worth; empty for a finding without one.

    It is also empty after a run on the simulated GPU: where that was necessary, a comparison has no GPU either.
    """
    order = result.order
    if finding.fix is None or finding.cell is not None or order.program == "pytest" or result.run.mode == "sim":
        return ""
    unsafe = ["--unsafe-fixes"] if finding.fix.safety is Safety.UNSAFE else []
    name = f"{finding.rule}:{finding.path}:{finding.span.line}"
    options = ["--on", result.run.mode, "--finding", name, *unsafe]
    return shlex.join(["torchlint", "compare", *options, "--", *command(order)])


def command(order: Order) -> list[str]:
    """The observed program with its arguments."""
    started = [order.script] if order.script else ["-m", order.module or ""]
    return [*started, *order.arguments]
