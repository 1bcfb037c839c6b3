"""Objects that take turns within a step, such as the two optimizers of a GAN: one of them marks the steps."""

from __future__ import annotations

import weakref
from typing import Any


class Turns:
    """Counts rounds: the calls of the object that was called first.

    Another object takes its place when it is called twice without that one in between, or when that one is gone.
    Objects are referenced weakly, since the id of one that is gone is used again.
    """

    def __init__(self) -> None:
        self._leader: weakref.ref[Any] | None = None
        self._others: list[weakref.ref[Any]] = []

    def rounds(self, called: Any, *, new: bool = False) -> tuple[int, bool]:
        """How many rounds a call completes, and whether another object marks them from now on.

        ``new`` says that the object was made when others had been called already: it takes over at once.
        """
        if self._leader is not None and self._leader() is called:
            self._others.clear()
            return 1, False
        if any(other() is called for other in self._others):
            return self._follow(called, 2)  # the call before was a round as well
        if new or self._leader is None or self._leader() is None:
            return self._follow(called, 1)
        self._others.append(weakref.ref(called))
        return 0, False

    def _follow(self, called: Any, rounds: int) -> tuple[int, bool]:
        self._leader = weakref.ref(called)
        self._others.clear()
        return rounds, True
