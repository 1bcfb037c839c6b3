"""Objects that take turns within a step, such as the two optimizers of a GAN: one of them marks the steps."""

from __future__ import annotations

import weakref
from typing import Any

_BURST = 8


class Turns:
    """Counts rounds: the calls of the object that was called first.

    Another object takes its place when it is called more often without that one in between than ever before (at first
    twice, and never more than nine times), or when that one is gone. If the former object comes back, as when an agent
    updates its actor twice for every two updates of its critics, it marks the rounds again. Objects are referenced
    weakly, since the id of one that is gone is used again.
    """

    def __init__(self) -> None:
        self._leader: weakref.ref[Any] | None = None
        self._former: weakref.ref[Any] | None = None
        self._others: list[tuple[weakref.ref[Any], int]] = []
        self._patience = 1
        self._led = 0

    def rounds(self, called: Any, *, new: bool = False) -> tuple[int, int]:
        """How many rounds a call completes, and whether another object marks them from now on.

        The second is 1 if an object takes over, -1 if the former one comes back, and else 0. ``new`` says that the
        object was made when others had been called already: it takes over at once.
        """
        if self._leader is not None and self._leader() is called:
            self._others.clear()
            self._led += 1
            return 1, 0
        if self._former is not None and self._former() is called:
            self._patience = max(self._patience, min(self._led, _BURST))
            return self._follow(called, 1, None), -1
        if new or self._leader is None or self._leader() is None:
            return self._follow(called, 1, None), 1
        count = 1 + sum(calls for other, calls in self._others if other() is called)
        if count > self._patience:
            return self._follow(called, count, self._leader), 1  # the calls before were rounds as well
        self._others = [(other, calls) for other, calls in self._others if other() is not called]
        self._others.append((weakref.ref(called), count))
        return 0, 0

    def _follow(self, called: Any, rounds: int, former: weakref.ref[Any] | None) -> int:
        self._leader, self._former = weakref.ref(called), former
        self._others.clear()
        self._led = rounds
        return rounds
