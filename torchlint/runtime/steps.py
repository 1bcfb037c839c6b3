"""Steps: their number, their duration, and the end of a limited run."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

import torch

_KEPT = 4096
_is_compiling = torch.compiler.is_compiling


class Enough(BaseException):
    """The run has reached its limit. Not an ``Exception``, so that programs do not catch it."""


class Steps:
    """Counts steps: those of the busiest optimizer, or batches if there is none.

    While ``excluding``, steps are counted as ``excluded``, without their duration. What listeners do at the end of a
    step belongs to no step.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._by_optimizer: dict[int, int] = {}
        self._batches = self._most = 0
        self._handle: Any = None
        self._last: int | None = None
        self.durations: list[int] = []
        self.listeners: list[Any] = []
        self.reached = self.excluding = False
        self.excluded = 0

    def install(self) -> None:
        """Register hooks for the steps of all optimizers."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._handle = register_optimizer_step_post_hook(self._stepped)

    def remove(self) -> None:
        """Remove the hooks."""
        if self._handle is not None:
            self._handle.remove()

    def forked(self) -> None:
        """Reset the counts in a child process."""
        self._by_optimizer, self._batches, self._most, self.durations, self._last = {}, 0, 0, [], None
        self.excluding, self.excluded = False, 0

    @property
    def count(self) -> int:
        """The number of steps so far."""
        return self._most or self._batches

    @property
    def unit(self) -> str:
        """The unit: ``optimizer step`` or ``batch``."""
        return "optimizer step" if self._by_optimizer else "batch"

    def batch(self) -> None:
        """A loader has yielded a batch: if no optimizer makes steps, this ends the previous step."""
        self._batches += 1
        if not self._by_optimizer:
            self._done(self._batches - 1)

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        if _is_compiling():
            return
        key = id(optimizer)
        steps = self._by_optimizer[key] = self._by_optimizer.get(key, 0) + 1
        if steps > self._most:
            self._most = steps
            self._done(steps)

    def _done(self, completed: int) -> None:
        now = perf_counter_ns()
        if self.excluding:
            self.excluded += 1
        elif self._last is not None and len(self.durations) < _KEPT:
            self.durations.append(now - self._last)
        for listener in self.listeners:
            listener(completed)
        self._last = perf_counter_ns()
        if self._limit is not None and completed >= self._limit:
            self.reached = True
            raise Enough

    def written(self) -> dict[str, Any]:
        """The steps as plain data. ``median_ns`` ignores the first two if there are more."""
        kept = sorted(self.durations[2:] or self.durations)
        return {
            "count": self.count,
            "unit": self.unit,
            "median_ns": kept[len(kept) // 2] if kept else None,
            "total_ns": sum(self.durations),
            "excluded": self.excluded,
        }
