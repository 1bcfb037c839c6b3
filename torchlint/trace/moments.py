"""What is looked for in a timeline, whatever tool recorded it: waits, copies from pageable memory, gaps of the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

WAIT, READ, DATA, IDLE = "wait", "read", "data", "idle"
UPLOAD, DOWNLOAD = "pageable-upload", "pageable-download"
# Calls of CUDA's runtime and driver, and of the same functions of other vendors, in which the host waits.
WAITS = re.compile(r"(?:cuda|cu|hip|mu|musa)(?:Device|Ctx|Stream|Event)Synchronize(?:_|$)")
# Between kernels that are launched one after the other lie a few microseconds.
_SHORTEST, _LEAST = 100.0, 10.0


class Moment(NamedTuple):
    """What took the host's time, or the GPU's: a kind, when it began, and how long it took, in microseconds.

    ``idle_us`` is how much of that time it left the GPU without work.
    """

    kind: str
    time: float
    microseconds: float
    idle_us: float = 0.0


class Gap(NamedTuple):
    """A time in which the GPU had nothing to do: when it ended, how long it was, and the work before and after it."""

    end: float
    microseconds: float
    before: int
    after: int

    @property
    def is_long(self) -> bool:
        """Whether it counts; those that do not only matter behind a wait."""
        return self.microseconds >= _SHORTEST


def gaps(busy: Iterable[tuple[float, float, int]]) -> Iterator[Gap]:
    """When the GPU had nothing to do between pieces of work.

    ``busy`` are the beginnings and ends of the work on all streams of a device by their beginnings, with a number that
    identifies each.
    """
    until, last = None, -1
    for begin, end, which in busy:
        if until is not None and begin - until >= _LEAST:
            yield Gap(begin, begin - until, last, which)
        if until is None or end > until:
            until, last = end, which


def missing(*, steps: bool, stacks: bool, device: bool, with_stacks: str) -> Sequence[str]:
    """What a recording lacks, with what to record next time; ``with_stacks`` says how to record stacks."""
    said = []
    if not stacks:
        said.append(f"It has no Python stacks, so nothing is known about lines: {with_stacks}.")
    if not steps:
        said.append("It has no steps: give the profiler a schedule, and call its step() after each batch.")
    if not device:
        said.append("It has no events of a GPU: waits, copies and gaps are only seen where the program runs on one.")
    return said
