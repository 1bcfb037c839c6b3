"""Bursts: what happens in few of the steps, such as writing a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from torchlint.confirm.evidence import Event, Run
from torchlint.confirm.rates import phase_of

# An event in at most this part of the steps is a burst, in a run of at least so many.
_PART, _STEPS = 0.1, 10
Steps = tuple[int, int, int]  # a run of steps: the first, the last, and in how many between them


class Burst(NamedTuple):
    """In how many ``steps`` something happened, ``of`` how many of its phase."""

    steps: int
    of: int

    @property
    def text(self) -> str:
        """In words: ``in 1 of 40 steps``."""
        return f"in {self.steps} of {self.of} steps"


def burst(events: Iterable[Event], run: Run) -> Burst | None:
    """In which part of the steps events happen, all together; None for what is no burst, or not known to be one."""
    found = _spread(events, run)
    return found if found is not None and found.of >= _STEPS and found.steps <= found.of * _PART else None


def is_rare(events: Iterable[Event], run: Run, per_step: float) -> bool:
    """Whether events happen in fewer than one of ten steps; where the steps are not known, by how often they do."""
    found = _spread(events, run)
    return found.steps < found.of * _PART if found is not None else per_step < _PART


def _spread(events: Iterable[Event], run: Run) -> Burst | None:
    """In how many steps events happen; None if that is not known."""
    found = [event for event in events if event.main and event.steps]
    if not found:
        return None
    of = run.phases[phase_of(run, found)].count // max(len(run.ranks), 1)
    return Burst(min(_together(part for event in found for part in event.steps), of), of)


def _together(runs: Iterable[Steps]) -> int:
    """The number of different steps in runs, at most: equal runs are one, and no step counts twice."""
    count = end = 0
    inside = length = 0
    for first, last, number in sorted(set(runs)):
        if first > end:
            count += min(inside, length)
            inside, length, end = 0, 0, first - 1
        inside += number
        length += max(last - end, 0)
        end = max(end, last)
    return count + min(inside, length)
