"""What a device did, and which calls of the host gave it the work. Times are in microseconds."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from torchlint.trace.idle import Starved, Waits
from torchlint.trace.moments import DOWNLOAD, IDLE, UPLOAD, Gap, Moment, gaps

Thread = tuple[Any, Any]
NOWHERE: Thread = ("", "")
_COPIES = {"HtoD (Pageable": UPLOAD, "DtoH (Device -> Pageable": DOWNLOAD}


class _Call(NamedTuple):
    thread: Thread
    begin: float
    length: float


class Device:
    """The work of all devices of a recording, in little memory; a correlation connects a call and its work."""

    def __init__(self) -> None:
        self._threads = dict[Thread, int]()
        # Calls that gave work to the device: correlation, beginning, length, thread.
        self._calls = array("q"), array("d"), array("d"), array("I")
        self._work: defaultdict[object, tuple[array[float], array[float], array[int]]] = defaultdict(
            lambda: (array("d"), array("d"), array("q"))
        )
        self._pageable: list[tuple[int, str, float, float]] = []

    def __bool__(self) -> bool:
        """Whether anything of a device was recorded."""
        return bool(self._work) or bool(self._calls[0])

    def call(self, thread: Thread, moment: Moment, correlation: int) -> None:
        """A call of the host that may have given work to a device."""
        correlations, begins, lengths, threads = self._calls
        correlations.append(correlation)
        begins.append(moment.time)
        lengths.append(moment.microseconds)
        threads.append(self._threads.setdefault(thread, len(self._threads)))

    def work(self, device: object, name: str, begin: float, length: float, correlation: int) -> None:
        """Work that a device has done."""
        begins, ends, which = self._work[device]
        begins.append(begin)
        ends.append(begin + length)
        which.append(correlation)
        for sign, kind in _COPIES.items():
            if sign in name:
                self._pageable.append((correlation, kind, begin, length))

    def moments(self, waits: Iterable[tuple[Thread, Moment]]) -> Iterator[tuple[Thread, Moment]]:
        """These waits and the copies from and to pageable memory, with how long they left the device idle; its gaps."""
        blocking = sorted((*waits, *self._copies()), key=lambda one: one[1].time)
        known = Waits([(thread, moment.time, moment.microseconds) for thread, moment in blocking])
        idle = [gap for columns in self._work.values() for gap in known.near(gaps(_by_beginning(*columns)))]
        calls = self._calls_of({which for gap in idle for which in (gap.before, gap.after)})
        left = known.caused(_starved(gap, calls) for gap in idle)
        for (thread, moment), idle_us in zip(blocking, left, strict=True):
            yield thread, moment._replace(idle_us=idle_us)
        for gap in idle:
            if gap.is_long:
                ended = calls[gap.after].begin if gap.after in calls else gap.end
                yield NOWHERE, Moment(IDLE, ended, gap.microseconds)

    def _copies(self) -> Iterator[tuple[Thread, Moment]]:
        calls = self._calls_of({which for which, *_ in self._pageable})
        for which, kind, begin, length in self._pageable:
            call = calls.get(which, _Call(NOWHERE, begin, length))
            yield call.thread, Moment(kind, call.begin, call.length)

    def _calls_of(self, wanted: set[int]) -> dict[int, _Call]:
        """The calls with these correlations."""
        threads = list(self._threads)
        return {
            which: _Call(threads[thread], begin, length)
            for which, begin, length, thread in zip(*self._calls, strict=True)
            if which in wanted
        }


def _starved(gap: Gap, calls: dict[int, _Call]) -> Starved:
    """A gap as the host sees it; these are its calls with their correlations."""
    before, after = calls.get(gap.before), calls.get(gap.after)
    given = gap.end - gap.microseconds if before is None else before.begin
    until = gap.end if after is None else min(gap.end, after.begin + after.length)
    return Starved(given, until, gap.microseconds, [call.thread for call in (before, after) if call is not None])


def _by_beginning(begins: array[float], ends: array[float], which: array[int]) -> Iterator[tuple[float, float, int]]:
    order = sorted(range(len(begins)), key=begins.__getitem__)
    return ((begins[at], ends[at], which[at]) for at in order)
