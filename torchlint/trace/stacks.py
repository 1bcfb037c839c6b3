"""What was running at a time, and what it called in which order, from calls with a beginning and a length."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator


class Names:
    """Numbers for texts, since a trace repeats few of them millions of times."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def number(self, text: str) -> int:
        """The number of a text, which is new or was seen before."""
        found = self._numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


class Stacks:
    """The calls of one thread, in little memory: each has a number, in order of time. Times are in microseconds."""

    def __init__(self) -> None:
        self._begins, self._ends, self._names = array("d"), array("d"), array("I")
        self._in_order = True

    def __len__(self) -> int:
        return len(self._begins)

    def add(self, begin: float, end: float, name: int) -> None:
        """A call of the function with this number, in any order; changes the numbers of other calls."""
        self._begins.append(begin)
        self._ends.append(end)
        self._names.append(name)
        self._in_order = False

    def names(self, calls: Iterable[int]) -> tuple[int, ...]:
        """The numbers of the functions that were called."""
        return tuple(map(self._names.__getitem__, calls))

    def at(self, times: Iterable[float]) -> Iterator[tuple[int, ...]]:
        """For each of these times, which must be in order, the calls that were running, the outermost first."""
        self._sort()
        begins, ends = self._begins, self._ends
        number, running = 0, list[int]()
        for time in times:
            while number < len(begins) and begins[number] <= time:
                while running and ends[running[-1]] <= begins[number]:
                    running.pop()
                running.append(number)
                number += 1
            while running and ends[running[-1]] < time:
                running.pop()
            yield tuple(running)

    def span(self, call: int) -> tuple[float, float]:
        """When a call began and ended."""
        self._sort()
        return self._begins[call], self._ends[call]

    def length(self, call: int) -> float:
        """How long a call took."""
        begin, end = self.span(call)
        return end - begin

    def within(self, begin: float, end: float, first: int = 0) -> Iterator[int]:
        """The outermost calls that begin in this time, in order; none before the call ``first``."""
        self._sort()
        begins, ends = self._begins, self._ends
        number = bisect_left(begins, begin, first)
        while number < len(begins) and begins[number] < end:
            yield number
            number = bisect_left(begins, ends[number], number + 1)

    def _sort(self) -> None:
        """Bring the calls into the order of their beginnings, the outer ones first, which most traces have already."""
        if self._in_order:
            return
        self._in_order = True
        begins, ends = self._begins, self._ends
        count = range(len(begins))
        if all((begins[at], -ends[at]) <= (begins[at + 1], -ends[at + 1]) for at in count[:-1]):
            return
        order = sorted(count, key=ends.__getitem__, reverse=True)
        order.sort(key=begins.__getitem__)
        self._begins, self._ends = (array("d", map(column.__getitem__, order)) for column in (begins, ends))
        self._names = array("I", map(self._names.__getitem__, order))
