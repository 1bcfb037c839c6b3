"""What waits and blocking copies cost: the time during which the device computes nothing because of them.

After a wait the host has to launch work anew, and until then the device has nothing to do. That it is idle is because
of the wait only as long as the host would otherwise have been ahead, by the time for which it was blocked: a program
that launches its work slower than the device computes it gains no more from a removed wait than the wait itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from torchlint.runtime.blocked import Blocked

Interval = tuple[int, int]
# Shorter times without work are those that a device needs between two kernels, even if the next one is queued.
_LEAST = 5_000


def lines_of(busy: Sequence[Interval], blocked: Sequence[Blocked], start: int, end: int) -> list[dict[str, Any]]:
    """What blocked the host between two moments, by kind and line, as plain data.

    ``busy`` is when the device computed, or copied without anyone waiting for it.
    """
    gaps = [gap for gap in between(busy, start, end) if gap[1] - gap[0] >= _LEAST]
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for one, ns in charged(gaps, [one for one in blocked if start <= one.end and one.start < end], start, end):
        if one.entry is None:
            continue
        copied = one.copied if one.mentioned and one.kind != "sync" else None
        key = (one.kind, one.entry.site, one.mentioned, one.beside, copied is not None and copied.pinned)
        named = {"kind": one.kind, "site": list(one.entry.site), "mentioned": one.mentioned, "beside": one.beside}
        none = {"pinned": key[-1], "count": 0, "bytes": 0, "blocked_ns": 0, "idle_ns": 0}
        line = found.setdefault(key, {**named, **none})
        line["count"] += 1
        line["bytes"] += copied.bytes if copied is not None else 0
        line["blocked_ns"] += one.end - one.start
        line["idle_ns"] += ns
    return sorted(found.values(), key=lambda line: -line["idle_ns"])


def charged(
    gaps: Sequence[Interval], blocked: Sequence[Blocked], start: int, end: int
) -> Iterator[tuple[Blocked, int]]:
    """What each wait costs: the idle time from its beginning to that of the next one.

    All together cost no more than the time for which the host was blocked until then.
    """
    until = [*(max(one.start, start) for one in blocked[1:]), end]
    credit, known = 0, start
    for one, following in zip(blocked, until, strict=False):
        begun = max(one.start, start)
        credit += max(one.end - max(begun, known), 0)
        known = max(known, one.end)
        cost = min(credit, overlap(gaps, begun, following))
        credit -= cost
        yield one, cost


def between(busy: Sequence[Interval], start: int, end: int) -> list[Interval]:
    """The times without work."""
    edges = [(start, start), *busy, (end, end)]
    return [(one[1], other[0]) for one, other in pairwise(edges)]


def overlap(intervals: Sequence[Interval], start: int, end: int) -> int:
    """How much of an interval others fill, which are in order and do not overlap each other."""
    found, position = 0, bisect_left(intervals, start, key=lambda one: one[1])
    while position < len(intervals) and intervals[position][0] < end:
        first, last = intervals[position]
        found += min(last, end) - max(first, start)
        position += 1
    return found
