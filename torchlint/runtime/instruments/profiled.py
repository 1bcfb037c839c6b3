"""Profiles a few steps with torch's profiler, to time copies on the device and to see when it is idle.

Starting and stopping the profiler synchronizes, which no other instrument does: it is used only on request. The
profiled steps are excluded from the duration of steps, and their events from times and figures per step.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import time_ns
from typing import Any

from torchlint.runtime.busy import WAITS, Log, device_of
from torchlint.runtime.instrument import Instrument, Watch

FIRST, LAST = 10, 30
_KINDS = {"HtoD": "upload", "DtoH": "download"}


def window(limit: int | None) -> tuple[int, int]:
    """The steps after which profiling begins and ends; in a run limited to few steps, its middle third."""
    if limit is None or limit > LAST:
        return FIRST, LAST
    return max(limit // 3, 1), max(2 * limit // 3, 2)


class Profiled(Instrument):
    """Profiles some steps, and counts the events of other instruments in them."""

    modes = frozenset(("gpu",))

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.first, self.last = window(watch.order.get("steps"))
        self._profiler: Any = None
        self._log = Log(0)
        self._tried = False
        self._before: dict[str, int] = {}
        self._count = 0
        self.found: dict[str, Any] | None = None

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """Whether it was requested."""
        return super().wanted(watch) and bool(watch.order.get("copy_times"))

    def written(self) -> dict[str, Any]:
        """The timed copies."""
        return {"profiled": self.found}

    def forked(self) -> None:
        """Profile only the parent of a child process."""
        self._profiler, self._tried, self.found = None, True, None

    def stepped(self, count: int) -> None:
        """A step is done."""
        self._count = count
        if count >= self.first and not self._tried:
            self._begin()
        elif self._profiler is not None:
            self._log.stepped(time_ns())
            if count >= self.last:
                self._end()

    def finish(self) -> None:
        """End the profiling with the program, and say if it has not even begun."""
        self.stop()
        if not self._tried:
            self._tried = True
            self._failed(
                f"there were {self._count} steps, and it begins after {self.first}; limit the run with --steps"
            )

    def stop(self) -> None:
        """End the profiling, perhaps in the middle of a step."""
        if self._profiler is not None:
            self._end()

    def _begin(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        self._tried = True
        try:
            profiler = profile(activities=[ProfilerActivity.CUDA], acc_events=True)
            profiler.__enter__()
        except Exception as error:  # another profiler is running, or this build has none for the device
            self._failed(f"{type(error).__name__}: {str(error)[:120]}")
            return
        self._profiler = profiler
        self._exclude(True)
        self._log = log = Log(time_ns())
        self._recorder.heard = lambda *what: log.heard(time_ns(), *what)
        self._before = {kind: self._counted(kind) for kind in _KINDS.values()}

    def _end(self) -> None:
        profiler, self._profiler = self._profiler, None
        self._exclude(False)
        self._recorder.heard = None
        seen = {kind: self._counted(kind) - before for kind, before in self._before.items()}
        try:
            profiler.__exit__(None, None, None)
            events = list(profiler.events() or ())
        except Exception as error:  # as above
            self._failed(f"{type(error).__name__}: {str(error)[:120]}")
            return
        steps = self._count - self.first
        self.found = {"steps": steps, "copies": copies_of(events), "seen": seen, "waits": waits_of(events)}
        self.found["device"] = self._device(profiler, events)

    def _device(self, profiler: Any, events: list[Any]) -> dict[str, Any] | None:
        try:
            return device_of(events, self._log, int(profiler.profiler.kineto_results.trace_start_ns()))
        except Exception as error:  # an internal interface of torch
            self.watch.notes.append(f"the device was not followed: {type(error).__name__}: {str(error)[:120]}")
            return None

    def _exclude(self, excluded: bool) -> None:
        self._recorder.excluded = self.watch.steps.excluding = excluded

    def _counted(self, kind: str) -> int:
        return sum(count.number for _, _, count in self._recorder.of(kind))

    def _failed(self, why: str) -> None:
        self.watch.notes.append(f"copies could not be timed: {why}")


def copies_of(events: Iterable[Any]) -> list[dict[str, Any]]:
    """The copies between host and device among the events of a profiler: name, kind, count and microseconds in all."""
    copies = [event for event in events if str(event.name).startswith("Memcpy")]
    return [
        {**summed, "kind": kind}
        for sign, kind in _KINDS.items()
        for summed in _summed(event for event in copies if sign in str(event.name))
    ]


def waits_of(events: Iterable[Any]) -> list[dict[str, Any]]:
    """The calls of the CUDA runtime that may wait, also those that torch does not report."""
    return _summed(event for event in events if str(event.name) in WAITS)


def _summed(events: Iterable[Any]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        name = str(event.name)
        one = found.setdefault(name, {"name": name, "count": 0, "us": 0.0})
        one["count"] += 1
        one["us"] += float(event.time_range.elapsed_us())
    return sorted(found.values(), key=lambda one: -float(one["us"]))
