"""What events cost: the one place that decides it, for verdicts, their order, lines, the answer and budgets.

What waits and blocking copies cost on a GPU is the time during which it computes nothing because of them, which
profiled steps show. How long a call was blocked is no cost: it includes work that was queued before. Where nothing was
profiled, and on the simulated GPU, a price list says which of them costs more. Everything else takes time of the host,
which is measured.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from torchlint.confirm.evidence import Event, Run
from torchlint.confirm.places import Place
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import Figure, each_step, time_of
from torchlint.confirm.totals import blocks, waits

EVALUATIONS = "evaluation"  # the kind of the events of marks
_HOST = frozenset(("array", "arrays", "data", "batch"))
# Functions whose calls wait for what was queued before.
_WAITING = frozenset(("torch.cuda.synchronize", "torch.accelerator.synchronize", "torch.cuda.empty_cache"))
_Key = tuple[str, Place]


class Basis(str, enum.Enum):
    """The basis of a figure: measured time, counted events, or a price list applied to counts."""

    MEASURED = "measured"
    COUNTED = "counted"
    MODELED = "modeled"


class Cost(NamedTuple):
    """Microseconds for each step, or for the whole run if there were no steps, and what they rest on."""

    us: float
    basis: Basis


@dataclass(frozen=True)
class Costs:
    """What the events of a run cost."""

    run: Run
    prices: Prices

    def of(self, events: Iterable[Event], phase: str | None = None) -> Cost | None:
        """What events cost together, for each step of a phase; None if that is not known.

        Those in processes that make steps count or, if there are none, those beside the step, in workers.
        """
        every = list(events)
        own = [event for event in every if event.main] or every
        blocking = [event for event in own if blocks(event)]
        return self._blocking(blocking, phase) if blocking else self._work(own, phase)

    def modeled(self, events: Iterable[Event], phase: str | None = None) -> float:
        """What the price list says about events."""
        return self._sum(events, self.prices.of, phase)

    @property
    def profiled(self) -> bool:
        """Whether steps of this run were profiled on a GPU."""
        return self.run.blocked is not None

    def idle(self, event: Event) -> float | None:
        """Microseconds in which a GPU computes nothing because of one such event; None if no profile shows it."""
        waits_here = event.main and waits(event)
        return self._idle.get((event.kind, event.place)) if waits_here else None

    def _blocking(self, events: Sequence[Event], phase: str | None) -> Cost | None:
        seen = [event for event in events if self.idle(event) is not None]
        if seen:
            idle = self._sum(seen, lambda event, part: part.number * (self.idle(event) or 0.0), phase)
            return Cost(idle, Basis.MEASURED)
        if self.run.mode == "cpu":
            return None
        modeled = self.modeled(events, phase)
        return Cost(modeled, Basis.MODELED) if any(map(self.prices.of, events)) else None

    def _work(self, events: Sequence[Event], phase: str | None) -> Cost | None:
        kinds = {event.kind for event in events}
        timed = kinds <= _HOST or (kinds <= {EVALUATIONS} and self.run.mode != "sim") or self.run.mode == "gpu"
        if not timed or not any(event.ns for event in events) or any(map(_waits_for_work, events)):
            return None
        return Cost(self._sum(events, lambda event, part: time_of(event, part) / 1000, phase), Basis.MEASURED)

    def _sum(self, events: Iterable[Event], figure: Figure, phase: str | None) -> float:
        """A figure of events for each step or, if there were none, in the whole run."""
        every = list(events)
        found = each_step(self.run, every, figure, phase)
        return sum(figure(event, event.whole) for event in every) if found is None else found

    @cached_property
    def _idle(self) -> Mapping[_Key, float]:
        """Microseconds of idle time for one event, by kind and place.

        Equal events that differ in where their data is from share a line of the profile.
        """
        found: dict[_Key, list[int]] = {}
        for line in (self.run.blocked or {}).get("lines", ()):
            sums = found.setdefault((line["kind"], Place(*line["site"])), [0, 0])
            sums[0] += line["idle_ns"]
            sums[1] += line["count"]
        return {key: ns / 1000 / count for key, (ns, count) in found.items()}


def _waits_for_work(event: Event) -> bool:
    return event.kind == "call" and event.facts.get("function") in _WAITING
