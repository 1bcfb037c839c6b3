"""Memoized queries that may depend on themselves, solved to their least fixpoint.

The value of ``x`` in ``x = f(x)`` needs the value of ``x``. A query that is being computed counts as unknown in itself,
so a result found on the way is provisional: it holds only inside the query at the head of the cycle. There the cycle is
computed again with the results of the previous round until nothing changes. That is the least fixpoint, which is the
same whichever query of the cycle comes first. Only then are its results memoized.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")
_ROUNDS = 4
_DEPTH = 150
_NOWHERE = _DEPTH + 1
_TOO_DEEP = object()  # in place of the head: the result depends on a query that the depth limit cut off


class FixpointMemo:
    """Results of queries by key. ``known`` holds the final ones."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Any] = {}
        self._stack: list[Hashable] = []  # the queries being computed
        self._depths: dict[Hashable, int] = {}  # the index of each in the stack
        self._lowest_read = _NOWHERE  # the lowest index of the stack that the current query has read
        self._provisional: dict[Hashable, tuple[Any, Hashable]] = {}  # results, with the head of their cycle
        self._reads: list[tuple[Hashable, Any]] = []  # queries read while being computed, with their `unknown`
        self._assumed: dict[Hashable, Any] = {}  # results of the previous round

    def get_or_compute(self, key: Hashable, compute: Callable[[], ResultT], unknown: ResultT) -> ResultT:
        """The result of a query; ``unknown`` is what the first round assumes for a query that depends on itself."""
        if key in self.known:
            return self.known[key]  # type: ignore[no-any-return]
        if key in self._depths:
            self._lowest_read = min(self._lowest_read, self._depths[key])
            self._reads.append((key, unknown))
            return self._assumed.get(key, unknown)  # type: ignore[no-any-return]
        if key in self._provisional:
            self._lowest_read = min(self._lowest_read, self._depth_of_head(key))
            return self._provisional[key][0]  # type: ignore[no-any-return]
        if len(self._stack) >= _DEPTH:
            self._lowest_read = -1
            return unknown
        return self._computed(key, compute)

    def _depth_of_head(self, key: Hashable) -> int:
        """The lowest index of the stack that a provisional result depends on; its head may be provisional by now."""
        while key is not _TOO_DEEP and key not in self._depths:
            key = self._provisional[key][1]
        return self._depths.get(key, -1)

    def _computed(self, key: Hashable, compute: Callable[[], ResultT]) -> ResultT:
        depth, outside = len(self._stack), self._lowest_read
        results, reads = len(self._provisional), len(self._reads)
        self._stack.append(key)
        self._depths[key], self._lowest_read = depth, _NOWHERE
        try:
            found = compute()
            if self._lowest_read == depth:
                found = self._fixpoint(key, found, compute, results, reads)
        except BaseException:
            self._lowest_read = outside
            raise
        finally:
            self._stack.pop()
            del self._depths[key]
            if not depth:
                self._forget(0, 0)
        if depth and self._lowest_read < depth:
            self._provisional[key] = found, self._stack[self._lowest_read] if self._lowest_read >= 0 else _TOO_DEEP
            self._lowest_read = min(self._lowest_read, outside)
        else:
            self.known[key] = found
            self._lowest_read = outside
        return found

    def _fixpoint(
        self, key: Hashable, first: ResultT, compute: Callable[[], ResultT], results: int, reads: int
    ) -> ResultT:
        """Iterate the head of a cycle until nothing changes; after too many rounds, return the first result.

        ``results`` and ``reads`` are the numbers of provisional results and reads from before the cycle.
        """
        found, depth, assumed, rounds = first, self._lowest_read, self._assumed, 0
        try:
            while changes := self._changes(key, found, reads):
                if rounds == _ROUNDS:
                    found = first
                    break
                self._assumed = {**self._assumed, **changes}
                self._forget(results, reads)
                self._lowest_read = _NOWHERE
                found, rounds = compute(), rounds + 1
                if self._lowest_read < depth:
                    return found  # it is part of a larger cycle after all
            else:
                self.known.update((k, self._provisional[k][0]) for k in list(self._provisional)[results:])
        finally:
            self._assumed = assumed
        self._forget(results, reads)
        return found

    def _changes(self, key: Hashable, found: object, reads: int) -> dict[Hashable, Any]:
        """The queries of the cycle whose results differ from what this round assumed for them."""
        ends = {k: (found if k == key else self._provisional[k][0], unknown) for k, unknown in self._reads[reads:]}
        return {k: end for k, (end, unknown) in ends.items() if end != self._assumed.get(k, unknown)}

    def _forget(self, results: int, reads: int) -> None:
        """Drop the provisional results and reads after the first ones."""
        while len(self._provisional) > results:
            self._provisional.popitem()
        del self._reads[reads:]
