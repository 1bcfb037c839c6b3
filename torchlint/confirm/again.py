"""Linting a program again with what its run has shown: findings that only the run proves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from torchlint.confirm.evidence import Run
from torchlint.confirm.lasting import evidence_of
from torchlint.confirm.order import Order
from torchlint.confirm.places import Place, Sources, real
from torchlint.confirm.prepare import findings_of, recipes_of
from torchlint.confirm.prices import Prices
from torchlint.model import Finding
from torchlint.run.plan import Plan

_KINDS = ("sync", "upload", "download")


def with_shown(order: Order, run: Run, prices: Prices, plan: Plan) -> Order:
    """The order with the findings that its rules have now that the run shows what happens where, and how often.

    Only findings at whose lines the run shows something are new; what the run has judged stays as it was.
    """
    evidence = evidence_of(order, run, prices)
    if not evidence.digest:
        return order
    events = [event.place for event in run.of(*_KINDS) if event.place.path in order.files]
    paths = sorted({place.path for place in events})
    sources = Sources(run.sources)
    known = {_key(finding, order) for finding in order.findings.values()}
    found = {
        f"seen-{number}": finding
        for number, finding in enumerate(findings_of(paths, plan._replace(evidence=evidence)))
        if _key(finding, order) not in known and _is_shown(finding, order, events, sources)
    }
    recipes = recipes_of(plan)
    return replace(
        order,
        findings={**order.findings, **found},
        recipes={**order.recipes, **{name: recipes[finding.rule] for name, finding in found.items()}},
        shown=frozenset(found),
    )


def _key(finding: Finding, order: Order) -> tuple[str, str, int]:
    return finding.rule, real(finding.path, order.base), finding.span.line


def _is_shown(finding: Finding, order: Order, events: Iterable[Place], sources: Sources) -> bool:
    place = sources.place(os.path.realpath(os.path.join(order.base, finding.path)), finding.span)
    return any(place.overlaps(other) for other in events)
