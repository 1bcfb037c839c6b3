"""Linting a program again with what its run has shown: findings that only the run proves."""

from __future__ import annotations

import os
from dataclasses import replace

from torchlint.base.paths import relative_to
from torchlint.confirm.evidence import COSTLY, Run
from torchlint.confirm.lasting import shots
from torchlint.confirm.order import Order, digest
from torchlint.confirm.places import Sources, real
from torchlint.confirm.prepare import findings_of, recipes_of
from torchlint.confirm.prices import Prices
from torchlint.model import Finding
from torchlint.run.plan import Plan
from torchlint.run.recorded.evidence import Evidence


def with_findings(order: Order, run: Run, prices: Prices, plan: Plan) -> Order:
    """The order with the findings that its rules have now that the run shows what happens where, and how often.

    Only findings at whose lines the run shows something are new, and only in files that are what they were; what the
    run has judged stays as it was.
    """
    shown = shots(order, run, prices)
    if order.reported or not shown:
        return order
    content = {os.path.normpath(os.path.join(order.base, shot.path)): shot.content for shot in shown}
    same = {path for path in order.files if content.get(path) == digest(path)}
    events = [event.place for event in run.of(*COSTLY) if event.place.path in same]
    sources = Sources(run.sources)
    known = {_key(finding, order): name for name, finding in order.findings.items()}
    kept, found = dict(order.findings), {}
    existing = [path for path in order.files if os.path.exists(path)]
    for number, fresh in enumerate(findings_of(existing, plan._replace(evidence=Evidence(shown)))):
        path = os.path.realpath(fresh.path)
        finding = fresh._replace(path=relative_to(order.base, path))
        name = known.get(_key(finding, order))
        if name is not None:  # equal lines are told apart by their number
            kept[name] = _extended(kept[name], fresh)
        elif path in same and any(sources.place(path, fresh.span).overlaps(place) for place in events):
            found[f"seen-{number}"] = finding
    recipes = recipes_of(plan)
    return replace(
        order,
        findings={**kept, **found},
        recipes={**order.recipes, **{name: recipes[finding.rule] for name, finding in found.items()}},
        shown=frozenset(found),
    )


def _extended(finding: Finding, fresh: Finding) -> Finding:
    """The finding, with the expressions of its lines that only the run shows to be of its kind."""
    more = set(fresh.evidence) > set(finding.evidence)
    return finding._replace(fingerprint=fresh.fingerprint, evidence=fresh.evidence if more else finding.evidence)


def _key(finding: Finding, order: Order) -> tuple[str, str, int, int]:
    return finding.rule, real(finding.path, order.base), finding.span.line, finding.span.column
