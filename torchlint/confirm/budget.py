"""Budgets: limits on what a step may transfer and wait, checked against counted events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torchlint.base.paths import below
from torchlint.confirm.case import size, where
from torchlint.confirm.evidence import Event, Run
from torchlint.confirm.rates import each_step, per_step
from torchlint.confirm.totals import Totals, totals, waits
from torchlint.report.figures import number

_WORST = 5


class BudgetProblem(Exception):
    """A run cannot be checked against a budget; a one-line reason."""


@dataclass(frozen=True)
class Excess:
    """A figure above its limit, and the source lines that contribute most."""

    key: str
    limit: float
    figure: float
    lines: tuple[tuple[str, float], ...]

    @property
    def text(self) -> str:
        """The excess in a sentence."""
        shown = size if self.key.endswith("bytes") else number
        lines = ", ".join(f"{place} ({shown(figure)})" for place, figure in self.lines)
        return f"{shown(self.figure)} {self.key} a step, {shown(self.limit)} allowed: {lines}"


def exceeded(budget: Mapping[str, float], run: Run) -> list[Excess]:
    """The figures above their limits. Raises :class:`BudgetProblem` for a run that cannot be checked."""
    if not budget:
        return []
    if run.mode == "cpu":
        raise BudgetProblem("a budget needs a run on a GPU or on the simulated one; this one was on the CPU")
    if run.left is not None:
        raise BudgetProblem("a budget needs a whole run; this one has left what can be simulated")
    found = totals(run)
    if found is None:
        raise BudgetProblem("a budget is for each step, and this run had no steps")
    return [_excess(key, limit, found, run) for key, limit in budget.items() if _figure(key, found) > limit]


def _figure(key: str, found: Totals) -> float:
    return float(getattr(found, key.replace("-", "_")))


def _excess(key: str, limit: float, found: Totals, run: Run) -> Excess:
    lines: dict[str, float] = {}
    for event in run.events:
        if _counts(key, event):
            name = _place(event)
            lines[name] = lines.get(name, 0.0) + _part(key, event, run)
    worst = sorted(((name, part) for name, part in lines.items() if part > 0), key=lambda line: -line[1])
    return Excess(key, limit, _figure(key, found), tuple(worst[:_WORST]))


def _place(event: Event) -> str:
    if not event.place.known:
        return "in a library"
    relative = below(event.place.path)
    return where([event.place]) if relative is None else f"{relative}:{event.place.line}"


def _counts(key: str, event: Event) -> bool:
    if key == "synchronizations":
        return waits(event)
    if key == "pageable-uploads":
        return event.kind == "upload" and not event.facts.get("pinned")
    return event.kind == ("upload" if key.startswith("upload") else "download")


def _part(key: str, event: Event, run: Run) -> float:
    if key.endswith("bytes"):
        return each_step(run, [event], lambda _, part: part.bytes) or 0.0
    return per_step(run, [event]) or 0.0
