"""Answers that may need themselves, found so that the order of the questions does not matter.

The value of ``x`` in ``x = f(x)`` needs the value of ``x``. What is being computed counts as unknown in itself,
and an answer that came about so holds only within the question that began the cycle. There the whole cycle is
computed again with what was found, until nothing changes: the least fixed point, which is the same wherever
one enters. Only then is anything of it remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

AnswerT = TypeVar("AnswerT")
_ROUNDS = 4
_DEPTH = 150
_NOWHERE = _DEPTH + 1
_DEEP = object()  # what rests on a question that was not asked any more


class Answers:
    """Remembers answers by key. ``known`` holds those that nothing can change any more."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Any] = {}
        self._asked: list[Hashable] = []  # what is being computed, in the order of asking
        self._places: dict[Hashable, int] = {}  # of each in that list
        self._lowest = _NOWHERE  # the lowest place that the computation at hand looked at
        self._drafts: dict[Hashable, tuple[Any, Hashable]] = {}  # with what stood at that place
        self._looked: list[tuple[Hashable, Any]] = []  # at what was being computed, and what is unknown of it
        self._assumed: dict[Hashable, Any] = {}  # what the round before found

    def find(self, key: Hashable, compute: Callable[[], AnswerT], unknown: AnswerT) -> AnswerT:
        """The answer to a question; ``unknown`` is what counts while nothing is known of it."""
        if key in self.known:
            return self.known[key]  # type: ignore[no-any-return]
        if key in self._places:
            self._lowest = min(self._lowest, self._places[key])
            self._looked.append((key, unknown))
            return self._assumed.get(key, unknown)  # type: ignore[no-any-return]
        if key in self._drafts:
            self._lowest = min(self._lowest, self._place_of(key))
            return self._drafts[key][0]  # type: ignore[no-any-return]
        if len(self._asked) >= _DEPTH:
            self._lowest = -1
            return unknown
        return self._computed(key, compute)

    def _place_of(self, draft: Hashable) -> int:
        """The lowest place that a draft rests on; what stood there then may be a draft by now itself."""
        while draft is not _DEEP and draft not in self._places:
            draft = self._drafts[draft][1]
        return self._places.get(draft, -1)

    def _computed(self, key: Hashable, compute: Callable[[], AnswerT]) -> AnswerT:
        place, outside = len(self._asked), self._lowest
        drafts, looked = len(self._drafts), len(self._looked)
        self._asked.append(key)
        self._places[key], self._lowest = place, _NOWHERE
        try:
            found = compute()
            if self._lowest == place:
                found = self._settled(key, found, compute, drafts, looked)
        except BaseException:
            self._lowest = outside
            raise
        finally:
            self._asked.pop()
            del self._places[key]
            if not place:
                self._forget(0, 0)
        if place and self._lowest < place:
            self._drafts[key] = found, self._asked[self._lowest] if self._lowest >= 0 else _DEEP
            self._lowest = min(self._lowest, outside)
        else:
            self.known[key] = found
            self._lowest = outside
        return found

    def _settled(
        self, key: Hashable, first: AnswerT, compute: Callable[[], AnswerT], drafts: int, looked: int
    ) -> AnswerT:
        """The answer at the head of a cycle when nothing changes any more; the first one when that takes too long."""
        found, place, assumed, rounds = first, self._lowest, self._assumed, 0
        try:
            while changes := self._changes(key, found, looked):
                if rounds == _ROUNDS:
                    found = first
                    break
                self._assumed = {**self._assumed, **changes}
                self._forget(drafts, looked)
                self._lowest = _NOWHERE
                found, rounds = compute(), rounds + 1
                if self._lowest < place:
                    return found  # it is part of a larger cycle after all
            else:
                self.known.update((k, self._drafts[k][0]) for k in list(self._drafts)[drafts:])
        finally:
            self._assumed = assumed
        self._forget(drafts, looked)
        return found

    def _changes(self, key: Hashable, found: object, looked: int) -> dict[Hashable, Any]:
        """What was looked at while it was being computed, if it came to something else than was taken for it."""
        ends = {k: (found if k == key else self._drafts[k][0], unknown) for k, unknown in self._looked[looked:]}
        return {k: end for k, (end, unknown) in ends.items() if end != self._assumed.get(k, unknown)}

    def _forget(self, drafts: int, looked: int) -> None:
        while len(self._drafts) > drafts:
            self._drafts.popitem()
        del self._looked[looked:]
