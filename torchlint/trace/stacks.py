"""The Python functions that were running at a time, from events with a beginning and a length, in little memory."""

from __future__ import annotations

from array import array
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
    """The functions of one thread; times are in microseconds."""

    def __init__(self) -> None:
        self._begins, self._ends, self._names = array("d"), array("d"), array("I")

    def __len__(self) -> int:
        return len(self._begins)

    def add(self, begin: float, end: float, name: int) -> None:
        """A call of the function with this number."""
        self._begins.append(begin)
        self._ends.append(end)
        self._names.append(name)

    def at(self, times: Iterable[float]) -> Iterator[tuple[int, ...]]:
        """For each of these times, which must be in order, the functions that were running, the outermost first."""
        begins, ends, names = self._begins, self._ends, self._names
        order = self._order()
        number, running = next(order, None), list[int]()
        for time in times:
            while number is not None and begins[number] <= time:
                while running and ends[running[-1]] <= begins[number]:
                    running.pop()
                running.append(number)
                number = next(order, None)
            while running and ends[running[-1]] < time:
                running.pop()
            yield tuple(names[each] for each in running)

    def _order(self) -> Iterator[int]:
        """The calls by their beginnings, the outer ones first, which is also the order of most traces."""
        begins, ends = self._begins, self._ends
        count = range(len(begins))
        if all((begins[at], -ends[at]) <= (begins[at + 1], -ends[at + 1]) for at in count[:-1]):
            return iter(count)
        order = sorted(count, key=ends.__getitem__, reverse=True)
        order.sort(key=begins.__getitem__)
        return iter(order)
