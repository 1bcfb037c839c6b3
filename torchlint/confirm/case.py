"""One finding with its evidence: what happened in its code, how often, and at what cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torchlint.confirm.evidence import EVALUATION, Event, Mark, Run
from torchlint.confirm.places import Place
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import Figure, each_step, per_step, phase_of, time_of
from torchlint.confirm.verdict import Basis, Status, Verdict
from torchlint.model import Finding, Recipe
from torchlint.report.figures import duration

NO_MARK = Mark(loaded=True, placed=False, begun=0, ended=0, changed=0, tensors=0, graphs=0, events=())
HOST = frozenset(("array", "arrays", "data", "batch"))
EVALUATIONS = "evaluation"  # the kind of the events of marks
# What costs less than this part of a step is negligible. Modeled costs have no share unless the user says how long a
# step takes, since one of the simulation does not last as long as on a GPU: they are held against a fast one, in
# microseconds.
SHARE = 0.001
_FAST_STEP = 1000.0


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
    prices: Prices
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

    def confirmed(self, events: Sequence[Event], reason: str, *, timed: Sequence[Event] = ()) -> Verdict:
        """The finding has a cost: that of the events, or of ``timed``, which show it better; it may be negligible."""
        phase = phase_of(self.run, events)
        cost, basis = self._cost(timed or events, phase)
        share = self._share(timed or events, cost, basis, phase)
        beside = bool(events) and not any(event.main for event in events)
        verdict = Verdict(
            status=Status.CONFIRMED,
            reason=f"{reason}; in workers, beside the step" if beside else reason,
            basis=Basis.MEASURED if basis is Basis.MEASURED else Basis.COUNTED,
            count=total(events),
            bytes=sum(event.bytes for event in events),
            per_step=per_step(self.run, blocking(events), phase),
            cost=cost,
            cost_basis=basis,
            share=share,
            phase=phase,
            beside=beside,
            events=tuple(events),
        )
        negligible = _negligible(verdict, self.recipe)
        if negligible is None:
            return self._bounded(verdict, events)
        return replace(verdict, status=Status.REFUTED, reason=f"{reason}, but {negligible}")

    def _bounded(self, verdict: Verdict, events: Sequence[Event]) -> Verdict:
        """Model the cost of blocking copies to a GPU: the measured time is mostly that of work queued before."""
        waits = any(event.kind == "upload" and not event.facts.get("non_blocking") for event in events)
        if self.run.mode != "gpu" or not waits or verdict.cost is None:
            return verdict
        reason = f"{verdict.reason}: at most {duration(verdict.cost)}{' a step' if self.run.all_steps else ''}"
        cost = self._modeled(events, verdict.phase or self.run.main)
        return replace(verdict, reason=reason, cost=cost, cost_basis=Basis.MODELED if cost else None, share=None)

    def refuted(self, reason: str, events: Sequence[Event] = ()) -> Verdict:
        """The finding has no cost in this run."""
        return Verdict(Status.REFUTED, reason, Basis.COUNTED, total(events), sum(e.bytes for e in events))

    def waited(self, reason: str) -> str:
        """A reason, with the caveat for measured waits that the device also finished other queued work."""
        if self.run.mode != "gpu":
            return reason
        return f"{reason}; the time is an upper bound, since it includes work that was queued before"

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

    @property
    def timed(self) -> list[Event]:
        """On a GPU, the evaluations: their time contains waits whose own duration is not known."""
        return self.evaluated_events if self.run.mode == "gpu" and self.mark.ns else []

    # -- figures -----------------------------------------------------------------------------------

    def per_step(self, events: Sequence[Event]) -> float | None:
        """Events for each step of the phase that they belong to."""
        return per_step(self.run, events, phase_of(self.run, events))

    def _cost(self, events: Sequence[Event], phase: str) -> tuple[float | None, Basis | None]:
        """Microseconds per step, or for the whole run if there were no steps; None if nothing is known."""
        kinds = {event.kind for event in events}
        measured = kinds <= HOST or (kinds <= {EVALUATIONS} and self.run.mode != "sim") or self.run.mode == "gpu"
        if self.run.mode == "gpu" and "sync" in kinds:  # torch reports the synchronization, but not its duration
            return None, None
        if measured and any(event.ns for event in events):
            return self._sum(events, lambda event, part: time_of(event, part) / 1000, phase), Basis.MEASURED
        if self.run.mode == "sim" and any(self.prices.of(event) for event in events):
            return self._modeled(events, phase), Basis.MODELED
        return None, None

    def _modeled(self, events: Sequence[Event], phase: str) -> float:
        return self._sum(events, self.prices.of, phase)

    def _sum(self, events: Sequence[Event], figure: Figure, phase: str) -> float:
        """A figure of the events that block the program, for each step or in the whole run."""
        found = each_step(self.run, blocking(events), figure, phase)
        return sum(figure(event, event.whole) for event in blocking(events)) if found is None else found

    def _share(self, events: Sequence[Event], cost: float | None, basis: Basis | None, phase: str) -> float | None:
        """The share of a step's time, if it is that of processes that make steps, and both are measured.

        On the simulated GPU, modeled costs are held against a step that lasts as long as the user says.
        """
        if cost is None or not any(event.main for event in events):
            return None
        if self.run.mode == "sim":
            given = self.prices.step if basis is Basis.MODELED and phase == self.run.main else None
            return min(cost / given, 1.0) if given else None
        step_ns = self.run.phases[phase].median_ns
        return min(cost * 1000 / step_ns, 1.0) if basis is Basis.MEASURED and step_ns else None


def blocking(events: Sequence[Event]) -> Sequence[Event]:
    """The events in processes that make steps; if there are none, those beside the step, in workers."""
    return [event for event in events if event.main] or events


def _negligible(verdict: Verdict, recipe: Recipe) -> str | None:
    """Why a cost does not matter; None if it does, or is not known."""
    if verdict.per_step is None or verdict.cost is None:
        return None
    step = "a step of evaluation" if verdict.phase == EVALUATION else "a step"
    if not verdict.per_step:
        return "it does not happen after the first step"
    if verdict.share is not None:
        least = max(recipe.share, SHARE)
        return f"that is {verdict.share:.2%} of {step}, below {least:.1%}" if verdict.share < least else None
    if verdict.cost < SHARE * _FAST_STEP:
        return f"{duration(verdict.cost)} {step} is below {SHARE:.1%} even of a step of 1 ms"
    return None


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
