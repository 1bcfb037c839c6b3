"""Which waits of the host left the GPU without work.

A wait makes the host give out all that follows later, by as long as it took. So of a gap of the GPU it has caused at
most that; the rest of a gap is due to a host that is slower than the GPU, and to no wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from torchlint.trace.moments import Gap


class Starved(NamedTuple):
    """A gap of the GPU as the host sees it, in microseconds.

    ``given`` is when it gave out the last work before. ``until`` is when it had given out the next, or when the GPU
    began with it, whichever was first. ``threads`` are those that gave out either.
    """

    given: float
    until: float
    microseconds: float
    threads: Sequence[object]


class Waits:
    """Waits of threads of the host: thread, beginning and length of each, in the order of time."""

    def __init__(self, waits: Sequence[tuple[object, float, float]]) -> None:
        self._waits = waits
        self._begins = [begin for _, begin, _ in waits]

    def near(self, gaps: Iterable[Gap]) -> Iterator[Gap]:
        """The gaps that are long, or follow on a wait: a slow host makes a short one before each kernel."""
        for gap in gaps:
            last = bisect_left(self._begins, gap.end) - 1
            _, begin, length = self._waits[last] if last >= 0 else (None, 0.0, float("-inf"))
            if gap.is_long or begin + length >= gap.end - gap.microseconds:
                yield gap

    def caused(self, gaps: Iterable[Starved]) -> list[float]:
        """How long each wait left the GPU without work."""
        left = [length for _, _, length in self._waits]
        for gap in gaps:
            rest = gap.microseconds
            within = range(bisect_left(self._begins, gap.given), bisect_left(self._begins, gap.until))
            for at in reversed(within):  # what was last is nearest to the gap
                if self._waits[at][0] in gap.threads:
                    part = min(rest, left[at], gap.until - self._begins[at])
                    left[at] -= part
                    rest -= part
        return [length - rest for (_, _, length), rest in zip(self._waits, left, strict=True)]
