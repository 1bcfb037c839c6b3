"""Budgets: limits on what a step may transfer and wait, checked against counted events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchlint.base.paths import below
from torchlint.confirm.case import size, where
from torchlint.confirm.costs import Costs
from torchlint.confirm.evidence import Event
from torchlint.confirm.rates import each_step, per_step
from torchlint.confirm.totals import Totals, totals, waits
from torchlint.report.figures import number

_WORST = 5
IDLE = "idle"


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
        shown = _percent if self.key == IDLE else size if self.key.endswith("bytes") else number
        lines = ", ".join(f"{place} ({shown(figure)})" for place, figure in self.lines)
        return f"{shown(self.figure)} {self.key} a step, {shown(self.limit)} allowed: {lines}"


def exceeded(budget: Mapping[str, float], costs: Costs) -> list[Excess]:
    """The figures above their limits. Raises :class:`BudgetProblem` for a run that cannot be checked."""
    run = costs.run
    if not budget:
        return []
    if run.mode == "cpu":
        raise BudgetProblem("a budget needs a run on a GPU or on the simulated one; this one was on the CPU")
    if run.left is not None:
        raise BudgetProblem("a budget needs a whole run; this one has left what can be simulated")
    found = totals(run)
    if found is None:
        raise BudgetProblem("a budget is for each step, and this run had no steps")
    if IDLE in budget and not (costs.profiled and run.step_ns):
        raise BudgetProblem("the budget `idle` needs profiled steps, which only a run on a GPU has; this one has none")
    figures = {key: _idle(run.events, costs) if key == IDLE else _figure(key, found) for key in budget}
    return [_excess(key, limit, figures[key], costs) for key, limit in budget.items() if figures[key] > limit]


def _figure(key: str, found: Totals) -> float:
    return float(getattr(found, key.replace("-", "_")))


def _idle(events: Iterable[Event], costs: Costs) -> float:
    """The percentage of a step in which the device computes nothing because of events."""
    cost = costs.of(event for event in events if event.main and costs.idle(event) is not None)
    return 100 * cost.us * 1000 / (costs.run.step_ns or 1) if cost is not None else 0.0


def _excess(key: str, limit: float, figure: float, costs: Costs) -> Excess:
    lines: dict[str, float] = {}
    for event in costs.run.events:
        if _counts(key, event):
            name = _place(event)
            lines[name] = lines.get(name, 0.0) + _part(key, event, costs)
    worst = sorted(((name, part) for name, part in lines.items() if part > 0), key=lambda line: -line[1])
    return Excess(key, limit, figure, tuple(worst[:_WORST]))


def _place(event: Event) -> str:
    if not event.place.known:
        return "in a library"
    relative = below(event.place.path)
    return where([event.place]) if relative is None else f"{relative}:{event.place.line}"


def _counts(key: str, event: Event) -> bool:
    if key in ("synchronizations", IDLE):
        return waits(event)
    if key == "pageable-uploads":
        return event.kind == "upload" and not event.facts.get("pinned")
    return event.kind == ("upload" if key.startswith("upload") else "download")


def _part(key: str, event: Event, costs: Costs) -> float:
    if key == IDLE:
        return _idle([event], costs)
    if key.endswith("bytes"):
        return each_step(costs.run, [event], lambda _, part: part.bytes) or 0.0
    return per_step(costs.run, [event]) or 0.0


def _percent(value: float) -> str:
    return f"{number(value)} %"
