"""One finding with its evidence: what happened in its code, how often, and at what cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torchlint.confirm.bursts import is_rare
from torchlint.confirm.costs import EVALUATIONS, Basis, Cost, Costs
from torchlint.confirm.evidence import EVALUATION, Event, Mark, Run
from torchlint.confirm.places import Place
from torchlint.confirm.rates import each_step, per_step, phase_of, time_of
from torchlint.confirm.totals import blocks, waits
from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import Finding, Recipe
from torchlint.report.figures import duration, percent

NO_MARK = Mark(loaded=True, placed=False, begun=0, ended=0, changed=0, tensors=0, graphs=0, events=())
# What costs less than this part of a step is negligible. Where the time of a step is not known, what happens rarely is
# negligible below so many microseconds a step.
SHARE, _LITTLE = 0.001, 1.0


@dataclass(frozen=True)
class Case:
    """A finding, its recipe, its mark, and the events at its places; ``own`` are those in its own span.

    ``block`` says that a block of code was observed, in a program that had begun before.
    """

    finding: Finding
    recipe: Recipe
    mark: Mark
    places: Sequence[Place]
    events: Sequence[Event]
    own: Sequence[Event]
    run: Run
    costs: Costs
    block: bool = False

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds at the finding's places."""
        return [event for event in self.events if event.kind in kinds]

    @property
    def reached(self) -> bool:
        """Whether the code was evaluated, or an event happened there."""
        return self.mark.begun > 0 or bool(self.events)

    @property
    def evaluated(self) -> str:
        """How often the code was evaluated, in words."""
        return times(self.evaluations, "evaluation")

    @property
    def evaluations(self) -> int:
        """How often the code was evaluated; if that was not counted, the number of events there."""
        return self.mark.begun or total(self.own)

    def confirmed(
        self, events: Sequence[Event], reason: str, *, priced: Sequence[Event] = (), lasts: bool = False
    ) -> Verdict:
        """The finding has a cost: that of the events, or of those ``priced`` in their place.

        It may be negligible, unless what the events have made ``lasts``, which costs more than making it.
        """
        phase = phase_of(self.run, events)
        costly = priced or self._costly(events)
        cost = self.costs.of(costly, phase)
        share = self._share(costly, cost, phase)
        beside = bool(events) and not any(event.main for event in events)
        said = f"{reason}; in workers, beside the step" if beside else reason
        verdict = Verdict(
            status=Status.CONFIRMED,
            reason=f"{said}{self._because(costly, cost, phase)}",
            basis=Basis.MEASURED if cost is not None and cost.basis is Basis.MEASURED else Basis.COUNTED,
            count=total(events),
            bytes=sum(event.bytes for event in events),
            per_step=per_step(self.run, blocking(events), phase),
            cost=cost.us if cost is not None else None,
            cost_basis=cost.basis if cost is not None else None,
            share=share,
            phase=phase,
            beside=beside,
            events=tuple(events),
        )
        negligible = None if lasts else self._negligible(verdict, costly)
        if negligible is None:
            return verdict
        return replace(verdict, status=Status.REFUTED, reason=f"{said}, but {negligible}")

    def refuted(self, reason: str, events: Sequence[Event] = ()) -> Verdict:
        """The finding has no cost in this run."""
        return Verdict(Status.REFUTED, reason, Basis.COUNTED, total(events), sum(e.bytes for e in events))

    def too_few(self, reason: str, events: Sequence[Event] = ()) -> Verdict:
        """It happened too rarely to matter; a longer run might show more."""
        return (
            self.refuted(reason, events) if self.run.complete else self.unknown(f"{reason} so far, but {self.run.gap}")
        )

    def unknown(self, reason: str) -> Verdict:
        """The run does not show it."""
        return Verdict(Status.UNKNOWN, reason)

    @property
    def evaluated_events(self) -> list[Event]:
        """The evaluations of the flagged code as events."""
        return [replace(event, place=self.places[0]) for event in self.mark.events]

    # -- figures -----------------------------------------------------------------------------------

    def per_step(self, events: Sequence[Event]) -> float | None:
        """Events for each step of the phase that they belong to."""
        return per_step(self.run, events, phase_of(self.run, events))

    def _costly(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events that have the cost: on a GPU, the time of code that waits is mostly that of work queued before."""
        inside = [event for event in self.own if waits(event)]
        evaluated = {event.kind for event in events} <= {EVALUATIONS}
        return inside if self.run.mode == "gpu" and evaluated and inside else events

    def _share(self, events: Sequence[Event], cost: Cost | None, phase: str) -> float | None:
        """The share of a step's time, if it is that of processes that make steps, and both are measured.

        On the simulated GPU, modeled costs are held against a step that lasts as long as the user says.
        """
        if cost is None or not any(event.main for event in events):
            return None
        if (cost.basis is Basis.MODELED) != (self.run.mode == "sim"):
            return None
        step = self._step_us(phase)
        return min(cost.us / step, 1.0) if step else None

    def _step_us(self, phase: str) -> float | None:
        """How long a step takes: as measured or, on the simulated GPU, as the user says."""
        if self.run.mode == "sim":
            return self.costs.prices.step if phase == self.run.main else None
        step_ns = self.run.phases[phase].median_ns
        return step_ns / 1000 if step_ns else None

    def _because(self, events: Sequence[Event], cost: Cost | None, phase: str) -> str:
        """What the cost of waits on a GPU is: idle time or, where no profile shows that, at least the blocked time."""
        blocked = [event for event in events if event.main and waits(event)]
        if self.run.mode != "gpu" or not blocked or not self.run.all_steps:
            return ""
        if cost is not None and cost.basis is Basis.MEASURED:
            return f"; the GPU computes nothing for {duration(cost.us)} {step_of(phase)} because of it"
        timed = blocked if all(event.ns for event in blocked) else self.evaluated_events
        spent = each_step(self.run, timed, lambda event, part: time_of(event, part) / 1000, phase)
        return f"; blocked for {duration(spent)} {step_of(phase)}, with work that was queued before" if spent else ""

    def _negligible(self, verdict: Verdict, costly: Sequence[Event]) -> str | None:
        """Why a cost does not matter; None if it does, or is not known.

        A price refutes only what happens in fewer than one of ten steps. Flagged code that runs once, before the steps,
        may set what lasts, such as a mode.
        """
        if verdict.per_step is None or verdict.cost is None:
            return None
        phase = verdict.phase or self.run.main
        evaluated = {event.kind for event in verdict.events} <= {EVALUATIONS}
        if not verdict.per_step:
            return None if evaluated else "it does not happen after the first step"
        if verdict.cost_basis is Basis.MEASURED:
            idle = any(map(blocks, costly))
            # A finding that is not about waits may cost more than those in its code.
            if verdict.share is None or verdict.share >= SHARE or (evaluated and idle):
                return None
            what = f"the GPU computes nothing for {duration(verdict.cost)} because of it," if idle else "that is"
            return f"{what} {percent(verdict.share)} of {step_of(phase)}, below {percent(SHARE)}"
        step = self._step_us(phase)
        if verdict.beside or not is_rare(verdict.events, self.run, verdict.per_step):
            return None
        if verdict.cost >= (step * SHARE if step else _LITTLE):
            return None
        least = f"{percent(SHARE)} of {step_of(phase)}" if step else duration(_LITTLE)
        return f"it happens rarely, and about {duration(verdict.cost)} {step_of(phase)} is below {least}"


def step_of(phase: str | None) -> str:
    """What a figure is for, in words."""
    return "a step of evaluation" if phase == EVALUATION else "a step"


def blocking(events: Sequence[Event]) -> Sequence[Event]:
    """The events in processes that make steps; if there are none, those beside the step, in workers."""
    return [event for event in events if event.main] or events


def total(events: Iterable[Event]) -> int:
    """The number of events."""
    return sum(event.count for event in events)


def times(count: int, noun: str) -> str:
    """A count and its noun, in words: ``8 copies``."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}es" if noun.endswith(("ch", "ss")) else f"{count:,} {noun}s"


def size(count: float) -> str:
    """Bytes in human-readable form: ``24.6 KB``."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def where(places: Iterable[Place | None], limit: int = 3) -> str:
    """Places in words: ``train.py:31, train.py:40``."""
    named = list(dict.fromkeys(f"{os.path.basename(p.path)}:{p.line}" for p in places if p is not None and p.known))
    return ", ".join(named[:limit]) + (f" and {len(named) - limit} more" if len(named) > limit else "")
