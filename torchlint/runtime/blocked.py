"""What blocked the host in profiled steps: calls of the CUDA runtime that wait, with the lines that they belong to.

Torch only mentions that a call has waited, after the call, and copies are recorded when they are done; how long the
host waited, and what was copied, torch's profiler says. Both are brought together here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from torch.autograd import DeviceType

from torchlint.runtime.sites import Site

# Functions of the CUDA runtime that wait for the device, or may.
WAITS = frozenset(
    "cudaStreamSynchronize cudaDeviceSynchronize cudaEventSynchronize cudaMemcpy cudaMalloc cudaFree cudaHostAlloc "
    "cudaFreeHost".split()
)
# Those among them that torch mentions, and those that take time without waiting for the device.
_MENTIONED = frozenset("cudaStreamSynchronize cudaDeviceSynchronize cudaEventSynchronize cudaMemcpy".split())
_WORKING = frozenset(("cudaMalloc", "cudaHostAlloc"))
KINDS = {"HtoD": "upload", "DtoH": "download"}
# How far the clocks of the host and of the profiler, and the time that recording takes, may put things apart.
_APART = 200_000
# What copies at most so many bytes to the host is the read of a number.
_NUMBER = 16
_LOGGED = 20_000
_RECORDED = frozenset(("upload", "download", "sync", "batch"))
_BYTES = re.compile(r'"bytes":\s*(\d+)')


class Recorded(NamedTuple):
    """Something that the recorder was told: when it began and ended, what and where, and whether the host waited.

    Where it takes no time, torch has only mentioned that there was a wait.
    """

    start: int
    end: int
    kind: str
    site: Site
    waits: bool


class Log:
    """What happened on the host, and when steps ended, in nanoseconds since 1970 as in the profiler's events."""

    def __init__(self, start: int) -> None:
        self.ends = [start]
        self.entries: list[Recorded] = []

    def stepped(self, now: int) -> None:
        """A step has ended; those in which more happened than is kept are no use."""
        if len(self.entries) < _LOGGED:
            self.ends.append(now)

    def heard(self, now: int, kind: str, site: Site, spent: int, facts: Mapping[str, object]) -> None:
        """An event that has just ended."""
        if kind in _RECORDED and len(self.entries) < _LOGGED:
            self.entries.append(Recorded(now - spent, now, kind, site, not facts.get("non_blocking")))

    @property
    def shown(self) -> list[int]:
        """The beginning of the first step to show, and the ends of all: without the first one, if there are others.

        The profiler begins in the first one.
        """
        return self.ends[1:] if len(self.ends) > 2 else self.ends


class Copied(NamedTuple):
    """A copy between host and device, as the device has made it."""

    kind: str
    pinned: bool
    bytes: int


class Blocked(NamedTuple):
    """A call that blocked the host: when, for which entry of the log, if it is known, and what it copied.

    ``beside`` says that it happened in another thread than that of the program, as in a backward pass.
    """

    start: int
    end: int
    entry: Recorded | None
    copied: Copied | None = None
    beside: bool = False

    @property
    def mentioned(self) -> bool:
        """Whether torch only mentioned it, so that what it was for is only known from the profile."""
        return self.entry is not None and self.entry.kind == "sync"

    @property
    def kind(self) -> str:
        """What it was, in the words of events: a wait that copies something is an upload or a download."""
        if self.entry is None or not self.mentioned or self.copied is None:
            return "sync" if self.entry is None else self.entry.kind
        number = self.copied.kind == "download" and self.copied.bytes <= _NUMBER
        return "sync" if number else self.copied.kind


class Seen(NamedTuple):
    """The calls that blocked the host, in order, and the numbers of the copies that they made."""

    blocked: list[Blocked]
    copies: frozenset[int]


class _Call(NamedTuple):
    """A call of the CUDA runtime, in nanoseconds. ``id`` is also that of what it starts on the device."""

    start: int
    end: int
    name: str
    thread: int
    id: int


def seen(events: Sequence[Any], log: Log, origin: int, sizes: Mapping[int, int]) -> Seen:
    """What blocked the host, from the profiler's events, whose times are microseconds since ``origin``.

    ``sizes`` are the bytes of copies by their number.
    """
    calls = sorted(_calls(events, origin))
    copies = {int(event.id): _copied(event, sizes) for event in events if _direction(event) and hasattr(event, "id")}
    before = _before(calls)
    waits = [call for call in calls if call.name in WAITS - _WORKING]
    owners, alone = _owners(waits, log.entries)
    thread = _thread(calls, log)
    found, numbers = [], set()
    for call in waits:
        first = _copying(call, before.get(call), copies)
        copied = copies[first.id] if first is not None else None
        start = first.start if first is not None else call.start
        numbers |= {first.id} if first is not None else set()
        found.append(Blocked(start, call.end, owners.get(call), copied, call.thread != thread))
    found += [Blocked(one.start, one.end, one) for one in alone]
    return Seen(sorted(found, key=lambda one: (one.start, one.end)), frozenset(numbers))


def sizes_of(results: Any) -> dict[int, int]:
    """The bytes of copies by their number, from the results of Kineto; empty if this torch does not say them."""
    found = {}
    for event in results.events():
        if str(event.name()).startswith("Memcpy"):
            said = _BYTES.search(str(event.metadata_json())) if hasattr(event, "metadata_json") else None
            size = int(said[1]) if said else int(event.nbytes()) if hasattr(event, "nbytes") else 0
            found[int(event.correlation_id())] = size
    return found


def _direction(event: Any) -> str | None:
    name = str(event.name)
    return next((kind for sign, kind in KINDS.items() if name.startswith("Memcpy") and sign in name), None)


def _copied(event: Any, sizes: Mapping[int, int]) -> Copied:
    return Copied(_direction(event) or "", "Pageable" not in str(event.name), sizes.get(int(event.id), 0))


def _calls(events: Iterable[Any], origin: int) -> list[_Call]:
    found = []
    for event in events:
        if event.device_type == DeviceType.CPU and str(event.name).startswith("cu"):
            start, end = (origin + round(moment * 1000) for moment in (event.time_range.start, event.time_range.end))
            thread, number = getattr(event, "device_resource_id", 0), getattr(event, "id", -1)
            found.append(_Call(start, end, str(event.name), int(thread), int(number)))
    return found


def _before(calls: Sequence[_Call]) -> dict[_Call, _Call]:
    """The call before each one in its thread."""
    last: dict[int, _Call] = {}
    found = {}
    for call in calls:
        if call.thread in last:
            found[call] = last[call.thread]
        last[call.thread] = call
    return found


def _copying(call: _Call, before: _Call | None, copies: Mapping[int, Copied]) -> _Call | None:
    """The call that started the copy for which one waits: itself, or the one just before it."""
    if call.id in copies:
        return call
    return before if before is not None and before.name == "cudaMemcpyAsync" and before.id in copies else None


def _owners(waits: Sequence[_Call], entries: Iterable[Recorded]) -> tuple[dict[_Call, Recorded], list[Recorded]]:
    """The entry to which each wait belongs, and copies without one. Other waits are those of libraries.

    Each entry takes the last wait before it that no other has taken: those of a backward pass are all mentioned at its
    end.
    """
    waiting = [one for one in waits if one.name in _MENTIONED]
    found: dict[_Call, Recorded] = {}
    alone: list[Recorded] = []
    begun: list[_Call] = []
    position = 0
    for entry in sorted((one for one in entries if one.waits and one.kind != "batch"), key=lambda one: one.end):
        while position < len(waiting) and waiting[position].start <= entry.end:
            begun.append(waiting[position])
            position += 1
        timed = entry.end > entry.start
        if begun and (not timed or begun[-1].end >= entry.start - _APART):
            found[begun.pop()] = entry
        elif timed:
            alone.append(entry)
    return found, alone


def _thread(calls: Sequence[_Call], log: Log) -> int | None:
    """The thread that ends steps: that of the last call before most of their ends."""
    last = []
    for end in log.ends[1:]:
        before = [call.thread for call in calls if call.start <= end]
        last += before[-1:]
    return max(last, key=last.count, default=None)
