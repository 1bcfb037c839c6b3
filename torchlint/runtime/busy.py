"""When the device was busy in a few steps, and after whose wait it was idle, from the events of torch's profiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from torch.autograd import DeviceType

from torchlint.runtime.sites import NOWHERE, Site

STEPS = 4
# Functions of the CUDA runtime that wait for the device, or may.
WAITS = frozenset(
    "cudaStreamSynchronize cudaDeviceSynchronize cudaEventSynchronize cudaMemcpy cudaMalloc cudaFree cudaHostAlloc "
    "cudaFreeHost".split()
)
_NEAR, _IDLE, _POINT = 2_000, 20_000, 100_000
_INTERVALS, _GAPS, _LOGGED = 400, 200, 20_000
_COPIES = ("HtoD", "DtoH")
_RECORDED = frozenset(("upload", "download", "sync", "batch"))
# What is on the device's side of a profile although the device does not work: spans named by the program, and waits.
_NO_WORK = frozenset(("gpu_user_annotation", "user_annotation", "cuda_sync"))

Interval = tuple[int, int]


class Recorded(NamedTuple):
    """Something that the recorder was told: when it began and ended, where, and whether the host waited.

    Where it takes no time, torch has only said that there is a wait.
    """

    start: int
    end: int
    site: Site
    waits: bool


class Log:
    """What happened on the host, and when steps ended, in nanoseconds since 1970 as in the profiler's events."""

    def __init__(self, start: int) -> None:
        self.ends = [start]
        self.entries: list[Recorded] = []

    def stepped(self, now: int) -> None:
        """A step has ended. The first one, in which the profiler begins, and those after the shown ones are no use."""
        if not self.full:
            self.ends.append(now)

    @property
    def full(self) -> bool:
        """Whether all steps that are shown are done."""
        return len(self.ends) > STEPS + 1

    def heard(self, now: int, kind: str, site: Site, spent: int, facts: Mapping[str, object]) -> None:
        """An event that has just ended."""
        if kind in _RECORDED and not self.full and len(self.entries) < _LOGGED:
            self.entries.append(Recorded(now - spent, now, site, not facts.get("non_blocking")))

    @property
    def shown(self) -> list[int]:
        """The beginning of the first step to show, and the ends of all: without the first if there are others."""
        return self.ends[1:] if len(self.ends) > 2 else self.ends


def device_of(events: Iterable[Any], log: Log, origin: int) -> dict[str, Any] | None:
    """Busy intervals and gaps as plain data, in nanoseconds since the first shown step began.

    ``events`` are those of ``profiler.events()``, whose times are microseconds since ``origin``. None if the device did
    nothing in these steps, or there are none.
    """
    every = list(events)
    start, end = log.shown[0], log.shown[-1]
    working = _working(every)
    rows = {name: _within(_times(found, origin), start, end) for name, found in working.items()}
    busy = merged([interval for row in rows.values() for interval in row])
    if len(log.shown) < 2 or not busy:
        return None
    waits = [*log.entries, *_others(every, log.entries, origin)]
    rows["host"] = _within([(one.start, one.end) for one in waits], start, end)
    gaps, dropped = _gaps(busy, start, end)
    after = [_site(gap, waits) for gap in gaps]
    sites = list(dict.fromkeys(site for site in after if site is not None))
    return {
        "steps": [moment - start for moment in log.shown[1:]],
        "busy_ns": _sum(busy),
        "idle": 1 - _sum(busy) / (end - start),
        "rows": {name: _written(few(row), start) for name, row in rows.items()},
        "gaps": [
            [begun - start, ended - begun, None if site is None else sites.index(site)]
            for (begun, ended), site in zip(gaps, after, strict=True)
        ],
        "dropped": dropped,
        "sites": [list(site) for site in sites],
    }


def merged(intervals: Iterable[Interval], near: int = 0) -> list[Interval]:
    """Intervals in order; those that overlap or are at most ``near`` apart are one."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start - found[-1][1] <= near:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def few(intervals: Sequence[Interval]) -> list[Interval]:
    """At most some hundred intervals: those that are close to each other are joined, the closer ones first."""
    near = _NEAR
    found = merged(intervals, near)
    while len(found) > _INTERVALS:
        near *= 2
        found = merged(found, near)
    return found


def _working(events: Iterable[Any]) -> dict[str, list[Any]]:
    """The events in which the busiest device computes or copies, by row."""
    on_device = [event for event in events if event.device_type == DeviceType.CUDA and not _is_span(event)]
    devices = Counter(event.device_index for event in on_device)
    device = devices.most_common(1)[0][0] if devices else None
    rows: dict[str, list[Any]] = {"compute": [], **{name: [] for name in _COPIES}}
    for event in on_device:
        if event.device_index == device:
            rows[_row(str(event.name))].append(event)
    return rows


def _is_span(event: Any) -> bool:
    return bool(getattr(event, "is_user_annotation", False)) or getattr(event, "activity_type", None) in _NO_WORK


def _row(name: str) -> str:
    return next((row for row in _COPIES if name.startswith("Memcpy") and row in name), "compute")


def _times(events: Iterable[Any], origin: int) -> list[Interval]:
    ranges = [event.time_range for event in events]
    return [(origin + round(one.start * 1000), origin + round(one.end * 1000)) for one in ranges]


def _within(intervals: Iterable[Interval], start: int, end: int) -> list[Interval]:
    cut = [(max(first, start), min(last, end)) for first, last in intervals]
    return [(first, last) for first, last in cut if last > first]


def _others(events: Iterable[Any], entries: Sequence[Recorded], origin: int) -> list[Recorded]:
    """The waits of the CUDA runtime outside of what was recorded with its time.

    A wait that torch only mentioned has the line of the mention that is nearest.
    """
    calls = _times((e for e in events if e.device_type == DeviceType.CPU and str(e.name) in WAITS), origin)
    known = merged((one.start, one.end) for one in entries if one.end > one.start)
    mentions = [one for one in entries if one.start == one.end]
    return [
        Recorded(start, end, _mentioned(start, end, mentions), True)
        for start, end in calls
        if not any(first < end and start < last for first, last in known)
    ]


def _mentioned(start: int, end: int, mentions: Sequence[Recorded]) -> Site:
    near = [(max(start - one.end, one.start - end, 0), one.site) for one in mentions]
    distance, site = min(near, default=(_POINT + 1, NOWHERE), key=lambda pair: pair[0])
    return site if distance <= _POINT else NOWHERE


def _gaps(busy: Sequence[Interval], start: int, end: int) -> tuple[list[Interval], int]:
    """The longest times without work in their order, and how many others there are."""
    edges = [(start, start), *busy, (end, end)]
    between = [(one[1], other[0]) for one, other in pairwise(edges)]
    idle = sorted((gap for gap in between if gap[1] - gap[0] > _IDLE), key=lambda gap: gap[0] - gap[1])
    return sorted(idle[:_GAPS]), len(idle[_GAPS:])


def _site(gap: Interval, waits: Iterable[Recorded]) -> Site | None:
    """The line of the wait that ended last before the device worked again."""
    ended = [one for one in waits if one.waits and one.start < one.end <= gap[1]]
    last = max(ended, default=None, key=lambda one: one.end)
    return last.site if last is not None and last.site.path else None


def _sum(intervals: Iterable[Interval]) -> int:
    return sum(end - start for start, end in intervals)


def _written(intervals: Iterable[Interval], start: int) -> list[list[int]]:
    return [[begun - start, ended - begun] for begun, ended in intervals]
