"""The steps of a run: what the profiler's annotations say, or else the time from one optimizer step to the next."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

STEP = "ProfilerStep#"
OPTIMIZER = "Optimizer.step#"


class Steps:
    """Steps as pairs of times in microseconds."""

    def __init__(self, spans: Iterable[tuple[float, float]]) -> None:
        self._spans = sorted(spans)
        self._begins = [begin for begin, _ in self._spans]

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def typical(self) -> float | None:
        """The time of the median step in microseconds; None if there are no steps."""
        return median(end - begin for begin, end in self._spans) if self._spans else None

    @property
    def time(self) -> float:
        """The time of all steps in microseconds."""
        return sum(end - begin for begin, end in self._spans)

    def has(self, time: float) -> bool:
        """Whether a time is in a step; all are if there are no steps."""
        at = bisect_right(self._begins, time) - 1
        return not self._spans or (at >= 0 and time <= self._spans[at][1])


def steps_of(annotated: Sequence[tuple[float, float]], optimized: Sequence[float]) -> Steps:
    """The steps from the profiler's annotations, as beginning and end, or from when the optimizer's steps ended.

    The last one is left out if the recording ended in it: if the optimizer stepped in all others.
    """
    ends, spans = sorted(optimized), sorted(annotated)
    if not spans:
        return Steps(pairwise(ends))
    whole = [bisect_right(ends, end) > bisect_left(ends, begin) for begin, end in spans]
    if len(spans) > 1 and all(whole[:-1]) and not whole[-1]:
        spans.pop()
    return Steps(spans)
