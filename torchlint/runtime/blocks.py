"""Times blocks of steps, with all that the device does for them and nothing that was submitted before."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

import torch

from torchlint.base.two_forms import LEAST_NS, LEAST_STEPS

_TRIES = 3


class Blocks:
    """Durations of blocks of at least three steps and 50 ms, each after a step that belongs to none.

    Programs submit work to a GPU and continue. Both ends of a block are synchronized, or a form of the program that
    does not wait would pass its work on to the block after it. Blocks in which the program evaluates (``evaluations``
    counts the steps of that) are begun again, unless that happens again and again.
    """

    def __init__(self, evaluations: Callable[[], int] = lambda: 0) -> None:
        self._evaluations = evaluations
        self._tries = 0
        self._begun: int | None = None

    def stepped(self) -> float | None:
        """At the end of a step: the nanoseconds of one step, if a block is complete."""
        if self._begun is None:
            self._begin()
            return None
        self._steps += 1
        if self._steps < LEAST_STEPS or perf_counter_ns() - self._begun < LEAST_NS:
            return None
        synchronize()
        spent = (perf_counter_ns() - self._begun) / self._steps
        if self._evaluations() != self._evaluated and self._tries < _TRIES:
            self._tries += 1
            self._begin()
            return None
        self._begun, self._tries = None, 0
        return spent

    def _begin(self) -> None:
        self._steps, self._evaluated = 0, self._evaluations()
        synchronize()
        self._begun = perf_counter_ns()


def synchronize() -> None:
    """Wait for the devices that the program uses, and initialize no other."""
    if not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
        return
    for index in range(torch.cuda.device_count()):
        if torch.cuda.memory_reserved(index):
            torch.cuda.synchronize(index)
