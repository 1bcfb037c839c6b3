"""One finding with its evidence: what happened in its code, how often, and at what cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torchlint.confirm.evidence import Event, Mark, Run
from torchlint.confirm.figures import duration
from torchlint.confirm.places import Place
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import each_step, per_step, phase_of
from torchlint.confirm.verdict import Basis, Status, Verdict
from torchlint.model import Finding, Recipe

NO_MARK = Mark(placed=False, begun=0, ended=0, ns=0, first=0, changed=0, main=True, tensors=0, graphs=0)
HOST = ("array", "arrays", "data", "batch", "pin")


@dataclass(frozen=True)
class Case:
    """A finding, its recipe, its mark, and the events at its places; ``own`` are those in its own span."""

    finding: Finding
    recipe: Recipe
    mark: Mark
    places: Sequence[Place]
    events: Sequence[Event]
    own: Sequence[Event]
    run: Run
    prices: Prices

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

    def confirmed(self, events: Sequence[Event], reason: str, *, nanoseconds: int | None = None) -> Verdict:
        """The finding has a cost. ``nanoseconds`` replaces the time of the events if a mark has measured it better."""
        phase = phase_of(self.run, events)
        cost, basis = self._cost(events, nanoseconds, phase)
        share = self._share(events, cost, basis, phase)
        verdict = Verdict(
            status=Status.CONFIRMED,
            reason=reason,
            basis=Basis.MEASURED if basis is Basis.MEASURED else Basis.COUNTED,
            count=total(events),
            bytes=sum(event.bytes for event in events),
            per_step=per_step(self.run, events, phase),
            cost=cost,
            cost_basis=basis,
            share=share,
            phase=phase,
        )
        if share is not None and share < self.recipe.share:
            return _refuted_by_share(verdict, self.recipe)
        return self._bounded(verdict, events)

    def _bounded(self, verdict: Verdict, events: Sequence[Event]) -> Verdict:
        """Model the cost of blocking copies to a GPU: the measured time is mostly that of work queued before."""
        blocking = any(event.kind == "upload" and not event.facts.get("non_blocking") for event in events)
        if self.run.mode != "gpu" or not blocking or verdict.cost is None:
            return verdict
        reason = f"{verdict.reason}: at most {duration(verdict.cost)}{' a step' if self.run.all_steps else ''}"
        cost = self._modelled(events, verdict.phase or self.run.main)
        return replace(verdict, reason=reason, cost=cost, cost_basis=Basis.MODELLED if cost else None, share=None)

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
    def marked(self) -> int | None:
        """On a GPU, the time inside the expression over all evaluations, with the first counted like the others."""
        mark = self.mark
        if self.run.mode != "gpu" or not mark.ns:
            return None
        return mark.ns if mark.ended < 2 else (mark.ns - mark.first) * mark.ended // (mark.ended - 1)

    # -- figures -----------------------------------------------------------------------------------

    def per_step(self, events: Sequence[Event]) -> float | None:
        """Events for each step of the phase that they belong to."""
        return per_step(self.run, events, phase_of(self.run, events))

    def _cost(self, events: Sequence[Event], nanoseconds: int | None, phase: str) -> tuple[float | None, Basis | None]:
        """Microseconds per step, or for the whole run if there were no steps."""
        host = bool(events) and all(event.kind in HOST for event in events)
        if nanoseconds is not None and self.run.mode != "sim":
            return nanoseconds / 1000 / max(self.run.phases[phase].count, 1), Basis.MEASURED
        if host or self.run.mode == "gpu":
            if any(event.kind == "sync" for event in events):  # torch reports the synchronization, but not its duration
                return None, None
            spent = each_step(self.run, events, lambda _, part: part.ns, phase)
            if spent is None:
                spent = sum(event.ns for event in events)
            return (spent / 1000, Basis.MEASURED) if spent else (None, None)
        if self.run.mode != "sim":
            return None, None
        modelled = self._modelled(events, phase)
        return (modelled, Basis.MODELLED) if modelled else (None, None)

    def _modelled(self, events: Sequence[Event], phase: str) -> float | None:
        modelled = each_step(self.run, events, self.prices.of, phase)
        return sum(self.prices.of(event) for event in events) if modelled is None else modelled

    def _share(self, events: Sequence[Event], cost: float | None, basis: Basis | None, phase: str) -> float | None:
        """The share of a step's time, if both are measured and the time is that of the main process."""
        step_ns = self.run.phases[phase].median_ns
        if basis is not Basis.MEASURED or cost is None or not step_ns or self.run.mode == "sim":
            return None
        if not (all(event.main for event in events) and self.mark.main):
            return None
        return min(cost * 1000 / step_ns, 1.0)


def _refuted_by_share(verdict: Verdict, recipe: Recipe) -> Verdict:
    reason = f"{verdict.reason}, but that is {verdict.share:.2%} of a step, below {recipe.share:.1%}"
    return replace(verdict, status=Status.REFUTED, reason=reason)


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
