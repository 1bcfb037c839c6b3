"""Steps: their phases, numbers and durations, and the end of a limited run.

A step of training ends when an optimizer has stepped or, in programs without optimizers, when a backward pass is done.
What happens between two of those without a backward pass is evaluation, in which each batch of a loader is a step or,
without a loader, each call of the outermost module without gradients from the same place. In programs that train
nothing, calls with gradients are steps of evaluation as well, and those of every thread.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from torchlint.runtime.boundaries import Boundaries, optimizers_alive
from torchlint.runtime.patches import Patches
from torchlint.runtime.phases import AFTER, BEFORE, EVALUATION, NAMES, TRAINING, Ledger
from torchlint.runtime.reservoir import Reservoir
from torchlint.runtime.timeline import Timeline
from torchlint.runtime.turns import Turns

_KEPT = 512
# Calls without gradients beside one with: of a teacher, or of target networks.
_BESIDE = 2


class Enough(BaseException):
    """The run has reached its limit. Not an ``Exception``, so that programs do not catch it."""


@dataclass
class _Content:
    """What has happened in the current segment: whose batches were fetched, forward passes, a backward pass.

    ``again`` counts batches that were fetched without any forward pass since the last one of the same loader,
    ``places`` are those of calls without gradients, and ``stepped`` says that an optimizer has stepped without ending
    a step.
    """

    loaders: list[int] = field(default_factory=list)
    again: int = 0
    with_gradients: bool = False
    without_gradients: int = 0
    backward: bool = False
    stepped: bool = False
    places: set[int] = field(default_factory=set)

    @property
    def forward(self) -> bool:
        """Whether the outermost module was called."""
        return self.with_gradients or self.without_gradients > 0


@dataclass
class _Phase:
    """The steps of one phase; ``units`` counts them by what ended them, ``steady`` those that rates are taken from."""

    count: int = 0
    steady: int = 0
    ns: int = 0
    units: dict[str, int] = field(default_factory=dict)
    durations: Reservoir = field(default_factory=lambda: Reservoir(_KEPT))

    @property
    def unit(self) -> str:
        """What a step is: what ended most of them."""
        return max(self.units, key=lambda unit: self.units[unit], default="batch")


class Steps:
    """Divides a run into steps. ``listeners`` are told of those that ``--steps`` counts; their time belongs to no step.

    While ``excluding``, steps are counted as ``excluded``, without their duration.
    """

    def __init__(self, limit: int | None, ledger: Ledger | None = None) -> None:
        self._limit = limit
        self._ledger = ledger or Ledger()
        self.timeline = Timeline()
        self._boundaries = Boundaries(self)
        self.listeners: list[Any] = []
        self.reached = False
        self._begin()

    def _begin(self) -> None:
        self._content = _Content()
        self._optimizers, self._modules = Turns(), Turns()
        self._later: list[weakref.ref[Any]] = []
        self._optimizes = self._passes = False
        self._waiting: list[int] = []
        self._waited = 0
        self._last = BEFORE
        self._number = self.trainings = 0
        self._since = perf_counter_ns()
        self.phases = {phase: _Phase() for phase in NAMES}
        self._durations: list[tuple[int, int, int]] = []
        self._stride = 1
        self.excluding, self.excluded = False, 0

    def install(self, patches: Patches, *, midway: bool = False) -> None:
        """Watch the boundaries of steps. ``midway`` says that the program has begun before."""
        self._optimizes = midway and optimizers_alive()
        self._boundaries.install(patches)

    def remove(self) -> None:
        """Stop watching."""
        self._boundaries.remove()

    def forked(self) -> None:
        """Reset the counts in a child process."""
        self._ledger.reset()
        self._boundaries.reset()
        self.timeline.forked()
        self._begin()

    @property
    def main(self) -> _Phase:
        """The phase whose steps are counted: training or, in programs without it, evaluation."""
        training = self.phases[TRAINING]
        return training if training.count else self.phases[EVALUATION]

    @property
    def count(self) -> int:
        """The number of steps so far."""
        return self.main.count

    # -- boundaries --------------------------------------------------------------------------------

    @property
    def trains(self) -> bool:
        """Whether there is an optimizer, or a backward pass has been made; until then, gradients say nothing."""
        return self._optimizes or self._content.backward or self.phases[TRAINING].count > 0

    def optimizer_made(self, optimizer: Any) -> None:
        """The program has constructed an optimizer; after a step that begins another training."""
        self._optimizes = True
        if self.phases[TRAINING].count:
            self._later = [made for made in self._later if made() is not None]
            self._later.append(weakref.ref(optimizer))

    def optimized(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        self._optimizes = True
        new = any(made() is optimizer for made in self._later)
        rounds, change = self._optimizers.rounds(optimizer, new=new)
        if new:
            self._later = [made for made in self._later if made() is not optimizer]
        if rounds:
            self.trainings -= change < 0  # the other one was no training of its own
            self._end(TRAINING, "optimizer step", rounds, first=change > 0)
        else:
            self._content.stepped = True

    def differentiated(self) -> None:
        """A backward pass is done."""
        self._content.backward = True
        self._passes = False
        if not self._optimizes:
            self._end(TRAINING, "backward pass", first=not self.phases[TRAINING].count)

    def called(self, module: Any, *, place: int | None) -> None:
        """The outermost module is called: with gradients in a training, or else at a place, to which loops return."""
        self._passes = False
        if self._content.stepped and place is not None:
            self._wait()  # this optimizer is done: what follows may be an evaluation
        content = self._content
        if place is None:
            if not (content.with_gradients or content.backward or content.loaders):
                self._end_of_evaluation()
            self._content.with_gradients = True
            return
        beside = content.with_gradients and content.without_gradients < _BESIDE
        if content.loaders or content.backward or beside:
            content.without_gradients += 1
            return
        rounds, _ = self._modules.rounds(module)
        if rounds and place in content.places:
            self._end(EVALUATION, "forward pass", rounds)
        elif not (content.without_gradients or self._number or self._waiting):
            self._wait()
        self._content.without_gradients += 1
        self._content.places.add(place)

    def _end_of_evaluation(self) -> None:
        """A forward pass with gradients begins a step: end what came before, if it was something else."""
        if self._content.without_gradients and self._last == EVALUATION:
            self._end(EVALUATION, "forward pass")
        elif not (self._content.without_gradients or self._number or self._waiting):
            self._wait()

    def fetching(self, loader: int) -> None:
        """The next batch of a loader is requested, which ends a step if one has begun with the batch before."""
        content = self._content
        if content.loaders and not content.forward and not content.backward:
            if loader not in content.loaders:  # loaders that are iterated together
                return
            if self._passes:
                self._end(EVALUATION, "batch")
            elif content.again:  # one batch may be fetched in advance, but not two
                self._passes = True
                self._end(EVALUATION, "batch", content.again + 1)
        elif self._is_evaluation():
            self._end(EVALUATION, "batch" if content.loaders else "forward pass")
        else:
            self._wait()

    def fetched(self, loader: int) -> None:
        """There was a batch."""
        if loader in self._content.loaders:
            self._content.again += 1
        else:
            self._content.loaders.append(loader)

    def exhausted(self) -> None:
        """There was none."""
        content = self._content
        if content.loaders and not (content.forward or self._optimizes or self.phases[TRAINING].count):
            self._end(EVALUATION, "batch", content.again + 1)
        self._passes = False

    def _is_evaluation(self) -> bool:
        """Whether the current segment, if it ends now, was a step of evaluation."""
        content = self._content
        if content.backward or not content.forward:
            return False
        if content.loaders:
            return True
        # After an optimizer has stepped, one forward pass belongs to the step, like a metric or a moving average.
        return content.without_gradients > 0 and (self._last == EVALUATION or not self.phases[TRAINING].count)

    # -- ends of steps -----------------------------------------------------------------------------

    def _turn(self) -> int:
        """Begin a new segment; returns the nanoseconds that the last one took."""
        now = perf_counter_ns()
        spent, self._since = now - self._since, now
        self._ledger.open()
        self._content = _Content()
        return spent

    def _wait(self) -> None:
        """The current segment belongs to the next step of training, if there is one."""
        self.timeline.wait(begun=self._number > 0)
        self._waiting.append(self._ledger.current)
        self._waited += self._turn()

    def _settle(self, phase: int, *, step: int = 0, steady: bool = False) -> int:
        """Decide the segments that wait; returns the nanoseconds that they took."""
        for segment in self._waiting:
            self._ledger.decide(segment, phase, step, steady=steady)
        waited, self._waited = self._waited, 0
        self._waiting.clear()
        return waited

    def _end(self, kind: int, unit: str, count: int = 1, *, first: bool = False) -> None:
        """Steps end here. ``first`` marks the first step of a training, which includes what is done once."""
        phase = self.phases[kind]
        self._number += count
        segment, spent = self._ledger.current, self._turn()
        steady = not (first or self.excluding)
        self.excluded += count if self.excluding else 0
        if kind == TRAINING and not first:
            spent += self._settle(TRAINING, step=self._number, steady=True)
        elif kind == TRAINING or not self.phases[TRAINING].count:
            self.phases[BEFORE].ns += self._settle(BEFORE)
        self._ledger.decide(segment, kind, self._number, steady=kind == TRAINING and steady)
        self.trainings += first
        phase.count += count
        phase.steady += count if steady else 0
        phase.ns += spent
        phase.units[unit] = phase.units.get(unit, 0) + count
        self._last = kind
        self._time(kind, spent // count, steady=steady)
        self.timeline.end(self._number, kind, spent, first=first, done=phase.count)
        if kind == TRAINING or not (self._optimizes or self.phases[TRAINING].count):
            self._tell(phase.count)

    def _time(self, kind: int, spent: int, *, steady: bool) -> None:
        if steady:
            self.phases[kind].durations.add(spent)
        if self.excluding or self._number % self._stride:
            return
        self._durations.append((self._number, kind, spent))
        if len(self._durations) > _KEPT:
            self._stride *= 2
            self._durations = [kept for kept in self._durations if not kept[0] % self._stride]

    def _tell(self, completed: int) -> None:
        if threading.current_thread() is not threading.main_thread():  # a server's, which a request must not end
            return
        for listener in self.listeners:
            listener(completed)
        self._since = perf_counter_ns()
        if self._limit is not None and completed >= self._limit:
            self.reached = True
            raise Enough

    def finish(self) -> None:
        """The program has ended: so has its last step, if nothing else can."""
        content, self._limit = self._content, None
        self.listeners.clear()
        if self._is_evaluation():
            self._end(EVALUATION, "batch" if content.loaders else "forward pass")
        else:
            self.exhausted()
        rest = AFTER if self._number else BEFORE
        self._waiting.append(self._ledger.current)
        self._waited += self._turn()
        self.phases[rest].ns += self._settle(rest)

    # -- evidence ----------------------------------------------------------------------------------

    def written(self) -> dict[str, Any]:
        """The steps as plain data. Rates and medians leave the first step of each training out."""
        main = self.main
        return {
            "count": main.count,
            "unit": main.unit,
            "median_ns": main.durations.median,
            "trainings": self.trainings,
            "excluded": self.excluded,
            "phases": {
                NAMES[kind]: {
                    "count": phase.count,
                    "steady": phase.steady,
                    "unit": phase.unit if phase.count else None,
                    "ns": phase.ns,
                    "median_ns": phase.durations.median,
                }
                for kind, phase in self.phases.items()
            },
            "durations": [[number, NAMES[kind], spent] for number, kind, spent in self._durations],
        }
