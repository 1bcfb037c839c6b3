"""When the device was busy in a few steps, and which waits left it idle, from the events of torch's profiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch.autograd import DeviceType

from torchlint.runtime import idle
from torchlint.runtime.blocked import KINDS, Blocked, Log, Recorded, seen
from torchlint.runtime.sites import Site

STEPS = 4
_NEAR, _IDLE = 2_000, 20_000
_INTERVALS, _GAPS = 400, 200
# What is on the device's side of a profile although the device does not work: spans named by the program, and waits.
_NO_WORK = frozenset(("gpu_user_annotation", "user_annotation", "cuda_sync"))

Interval = tuple[int, int]


class Device:
    """What a device did in profiled steps. ``sizes`` are the bytes of copies by their number.

    ``events`` are those of ``profiler.events()``, whose times are microseconds since ``origin``.
    """

    def __init__(self, events: Iterable[Any], log: Log, origin: int, sizes: Mapping[int, int]) -> None:
        every = list(events)
        self._ends, self._log = log.shown, log
        self._working = _working(every)
        self._rows = {name: _times(found, origin) for name, found in self._working.items()}
        self._origin = origin
        self._seen = seen(every, log, origin, sizes)

    @property
    def worked(self) -> bool:
        """Whether there is a whole step, and the device did something in it."""
        return len(self._ends) > 1 and bool(self._busy(self._ends[-1]))

    def picture(self) -> dict[str, Any] | None:
        """Busy intervals and gaps of at most four steps, in nanoseconds since the first of them began.

        None if the device did nothing in them.
        """
        ends = self._ends[: STEPS + 1]
        start, end = ends[0], ends[-1]
        busy = self._busy(end)
        if len(ends) < 2 or not busy:
            return None
        waits = self._host()
        rows = {name: _within(row, start, end) for name, row in self._rows.items()}
        rows["host"] = _within([(one.start, one.end) for one in waits], start, end)
        gaps, dropped = _gaps(busy, start, end)
        after = [_site(gap, waits) for gap in gaps]
        sites = list(dict.fromkeys(site for site in after if site is not None))
        return {
            "steps": [moment - start for moment in ends[1:]],
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

    def blocked(self) -> dict[str, Any] | None:
        """What blocked the host in all these steps, and how long the device computed nothing because of it.

        None if the device did nothing in them.
        """
        if not self.worked:
            return None
        start, end = self._ends[0], self._ends[-1]
        computed = merged(_within(self._rows["compute"], start, end))
        # While a copy runs for which nobody waits, no other wait keeps the device from computing.
        copied = _times(self._unawaited(), self._origin)
        working = merged([*computed, *_within(copied, start, end)])
        return {
            "steps": len(self._ends) - 1,
            "ns": end - start,
            "idle_ns": end - start - _sum(computed),
            "lines": idle.lines_of(working, self._seen.blocked, start, end),
        }

    def _busy(self, end: int) -> list[Interval]:
        return merged(_within([one for row in self._rows.values() for one in row], self._ends[0], end))

    def _unawaited(self) -> list[Any]:
        copies = (event for name in KINDS for event in self._working[name])
        return [event for event in copies if getattr(event, "id", None) not in self._seen.copies]

    def _host(self) -> list[Blocked]:
        """What the host spent time with: everything that blocked it, and what was recorded with its time."""
        timed = [one for one in self._log.entries if one.end > one.start]
        return [*(Blocked(one.start, one.end, one) for one in timed), *_others(self._seen.blocked, timed)]


def _others(blocked: Iterable[Blocked], timed: Iterable[Recorded]) -> list[Blocked]:
    """What blocked the host outside of what was recorded with its time."""
    known = merged((one.start, one.end) for one in timed)
    return [one for one in blocked if not any(first < one.end and one.start < last for first, last in known)]


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
    rows: dict[str, list[Any]] = {"compute": [], **{name: [] for name in KINDS}}
    for event in on_device:
        if event.device_index == device:
            rows[_row(str(event.name))].append(event)
    return rows


def _is_span(event: Any) -> bool:
    return bool(getattr(event, "is_user_annotation", False)) or getattr(event, "activity_type", None) in _NO_WORK


def _row(name: str) -> str:
    return next((row for row in KINDS if name.startswith("Memcpy") and row in name), "compute")


def _times(events: Iterable[Any], origin: int) -> list[Interval]:
    ranges = [event.time_range for event in events]
    return [(origin + round(one.start * 1000), origin + round(one.end * 1000)) for one in ranges]


def _within(intervals: Iterable[Interval], start: int, end: int) -> list[Interval]:
    cut = [(max(first, start), min(last, end)) for first, last in intervals]
    return [(first, last) for first, last in cut if last > first]


def _gaps(busy: Sequence[Interval], start: int, end: int) -> tuple[list[Interval], int]:
    """The longest times without work in their order, and how many others there are."""
    every = (gap for gap in idle.between(busy, start, end) if gap[1] - gap[0] > _IDLE)
    ordered = sorted(every, key=lambda gap: gap[0] - gap[1])
    return sorted(ordered[:_GAPS]), len(ordered[_GAPS:])


def _site(gap: Interval, waits: Iterable[Blocked]) -> Site | None:
    """The line of the wait that ended last before the device worked again."""
    blocking = [one for one in waits if one.entry is None or one.entry.waits]
    ended = [one for one in blocking if one.start < one.end <= gap[1]]
    last = max(ended, default=None, key=lambda one: one.end)
    return last.entry.site if last is not None and last.entry is not None and last.entry.site.path else None


def _sum(intervals: Iterable[Interval]) -> int:
    return sum(end - start for start, end in intervals)


def _written(intervals: Iterable[Interval], start: int) -> list[list[int]]:
    return [[begun - start, ended - begun] for begun, ended in intervals]
