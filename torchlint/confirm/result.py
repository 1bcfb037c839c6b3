"""The result of ``confirm`` and ``verdict``: verdicts, totals, hot spots and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torchlint.base.paths import relative_to
from torchlint.confirm import budget as budgets
from torchlint.confirm.answer import Answer, answer
from torchlint.confirm.bursts import Burst, burst
from torchlint.confirm.case import size, times
from torchlint.confirm.costs import Basis, Costs
from torchlint.confirm.evidence import EVALUATION, Event, Run
from torchlint.confirm.judge import judge, unflagged
from torchlint.confirm.order import Order
from torchlint.confirm.places import Sources
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import per_step, phase_of
from torchlint.confirm.totals import Totals, blocks, totals
from torchlint.confirm.verdict import Status, Verdict
from torchlint.knowledge.observations import KINDS
from torchlint.model import Finding, Severity

_NOUNS = {"upload": "copy to the device", "download": "copy to the host"}


@dataclass(frozen=True)
class HotSpot:
    """Transfers or synchronizations in every step that no finding covers.

    ``cost`` is in microseconds per step of ``phase``, on the given ``cost_basis``; ``burst`` is set if it happens in
    few steps. ``advice`` is about the kind: what would do better depends on what the line is for.
    """

    kind: str
    path: str
    line: int
    column: int
    count: int
    bytes: int
    per_step: float
    cost: float
    cost_basis: Basis
    phase: str
    burst: Burst | None
    advice: str

    @property
    def what(self) -> str:
        """What happened in the whole run: ``2 copies to the host, 401.4 KB in all``."""
        noun, _, more = _NOUNS.get(self.kind, self.kind).partition(" ")
        counted = f"{times(self.count, noun)} {more}".strip()
        return f"{counted}, {size(self.bytes)} in all" if self.bytes else counted


@dataclass(frozen=True)
class Result:
    """Everything that reports need. ``verdicts`` has one verdict for each of ``findings``.

    ``evaluation`` holds the totals of evaluation in a program that trains as well.
    """

    order: Order
    run: Run
    prices: Prices
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    totals: Totals | None
    evaluation: Totals | None
    hot: tuple[HotSpot, ...]
    excesses: tuple[budgets.Excess, ...]

    @property
    def costs(self) -> Costs:
        """What events cost."""
        return Costs(self.run, self.prices)

    @property
    def answer(self) -> Answer:
        """What a step takes, and how much of it is waiting."""
        return answer(self.costs, self.totals, self.verdicts)

    @property
    def rest(self) -> float:
        """What copies and waits cost in a step that are neither of a confirmed finding nor listed: microseconds."""
        flagged = (event for one in self.verdicts if one.status is Status.CONFIRMED for event in one.events)
        listed = (event for events in unflagged(self.order, self.run) for event in events)
        known = {id(event) for event in (*flagged, *listed)}
        cost = self.costs.of([e for e in self.run.events if e.main and blocks(e) and id(e) not in known])
        return cost.us if cost is not None else 0.0

    @property
    def pairs(self) -> list[tuple[Finding, Verdict]]:
        """The findings with their verdicts: confirmed ones first, by cost; bursts come after what most steps do.

        Loading beside a simulated GPU comes last of the confirmed ones.
        """

        def order(pair: tuple[Finding, Verdict]) -> tuple[int, bool, bool, float, tuple[object, ...]]:
            finding, verdict = pair
            steps = self.run.phases[verdict.phase or self.run.main].count
            weight = (verdict.cost or 0.0) * max(steps, 1)
            loading = verdict.is_loading_beside(self.run.mode)
            return list(Status).index(verdict.status), loading, verdict.burst is not None, -weight, finding.sort_key

        return sorted(zip(self.findings, self.verdicts, strict=True), key=order)

    def fails(self, least: Severity | None) -> bool:
        """Whether a confirmed finding has at least this severity, or the budget is exceeded."""
        if self.excesses:
            return True
        if least is None:
            return False
        pairs = zip(self.findings, self.verdicts, strict=True)
        return any(v.status is Status.CONFIRMED and f.severity.rank >= least.rank for f, v in pairs)


def result(order: Order, run: Run, prices: Prices, budget: Mapping[str, float]) -> Result:
    """Judge a run. Raises :class:`torchlint.confirm.budget.BudgetProblem`."""
    verdicts = judge(order, run, prices)
    names = sorted(order.findings, key=lambda name: order.findings[name].sort_key)
    simulated = run.left is None  # otherwise nothing is known about its steps
    return Result(
        order=order,
        run=run,
        prices=prices,
        findings=tuple(order.findings[name] for name in names),
        verdicts=tuple(verdicts[name] for name in names),
        totals=totals(run) if simulated else None,
        evaluation=totals(run, EVALUATION) if simulated and run.main != EVALUATION else None,
        hot=_hot(order, Costs(run, prices)) if simulated else (),
        excesses=tuple(budgets.exceeded(budget, Costs(run, prices))),
    )


def _hot(order: Order, costs: Costs) -> tuple[HotSpot, ...]:
    run, sources = costs.run, Sources(costs.run.sources)
    spots = [_spot(events, costs, order, sources) for events in unflagged(order, run)]

    def order_of(spot: HotSpot) -> tuple[bool, float, str, int, int]:
        weight = spot.cost * run.phases[spot.phase].count
        return spot.burst is not None, -weight, spot.path, spot.line, spot.column

    return tuple(sorted(spots, key=order_of))


def _spot(events: Sequence[Event], costs: Costs, order: Order, sources: Sources) -> HotSpot:
    run, place = costs.run, events[0].place
    phase = phase_of(run, events)
    cost = costs.of(events, phase)
    return HotSpot(
        kind={"sync": "synchronization"}.get(events[0].kind, events[0].kind),
        path=relative_to(order.base, place.path) if place.known else "",
        line=place.line,
        column=sources.column(place) if place.known else 0,
        count=sum(event.count for event in events),
        bytes=sum(event.bytes for event in events),
        per_step=per_step(run, events, phase) or 0.0,
        cost=cost.us if cost is not None else 0.0,
        cost_basis=cost.basis if cost is not None else Basis.COUNTED,
        phase=phase,
        burst=burst(events, run),
        advice=_advice(events),
    )


def _advice(events: Sequence[Event]) -> str:
    if events[0].kind != "upload":
        return KINDS[{"sync": "wait", "download": "pageable-download"}[events[0].kind]].advice
    pinned = all(event.facts.get("pinned") for event in events)
    return KINDS["blocking-upload" if pinned else "pageable-upload"].advice
