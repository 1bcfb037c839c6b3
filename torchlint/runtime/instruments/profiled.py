"""Profiles a few steps with torch's profiler: what waits and copies cost the device, and when it is idle.

Starting and stopping the profiler synchronizes, which no other instrument does. The profiled steps are excluded from
the duration of steps, and their events from times and figures per step. Torch has one profiler: that of the program
comes first.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sequence
from time import time_ns
from typing import Any

import torch

from torchlint.runtime.blocked import KINDS, WAITS, Log, sizes_of
from torchlint.runtime.busy import Device
from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.patches import Patches

FIRST = 10


def window(limit: int | None, steps: int) -> tuple[int, int]:
    """The steps after which profiling begins and ends; in a run limited to few steps, in its middle third."""
    if limit is None or limit > FIRST + steps:
        return FIRST, FIRST + steps
    first = max(limit // 3, 1)
    return first, min(max(2 * limit // 3, 2), first + steps)


class Profiled(Instrument):
    """Profiles some steps, and counts the events of other instruments in them."""

    modes = frozenset(("gpu",))

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.first, self.last = window(watch.order.get("steps"), int(watch.order["profile_steps"]))
        self._profiler: Any = None
        self._log = Log(0)
        self._tried = self._other = False
        self._before: dict[str, int] = {}
        self._count = 0
        self.found: dict[str, Any] | None = None

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """Whether any steps are to be profiled."""
        return super().wanted(watch) and bool(watch.order.get("profile_steps"))

    def install(self, patches: Patches) -> None:
        """Make way for a profiler of the program: where another one has begun, torch would end that."""
        from torch.autograd.profiler import profile

        real = profile._prepare_trace

        @functools.wraps(real)
        def _prepare_trace(profiler: Any) -> Any:
            if self._profiler is None or profiler is not self._profiler.profiler:
                self._other = True
                self.stop()
            return real(profiler)

        patches.set(profile, "_prepare_trace", _prepare_trace)

    def written(self) -> dict[str, Any]:
        """What was profiled."""
        return {"profiled": self.found}

    def forked(self) -> None:
        """Profile only the parent of a child process."""
        self._profiler, self._tried, self.found = None, True, None

    def stepped(self, count: int) -> None:
        """A step is done."""
        self._count = count
        if self._profiler is not None:
            self._log.stepped(time_ns())
            if count >= self.last and not _capturing():
                self._end()
        elif count >= self.first and not self._tried and torch.cuda.is_initialized() and not _capturing():
            self._begin()

    def finish(self) -> None:
        """End the profiling with the program, and say if it has not even begun."""
        self.stop()
        if not self._tried and torch.cuda.is_initialized():
            self._tried = True
            self._failed(
                f"there were {self._count} steps, and it begins after {self.first}; limit the run with --steps"
            )

    def stop(self) -> None:
        """End the profiling, perhaps in the middle of a step."""
        if self._profiler is not None:
            self._end()

    def _begin(self) -> None:
        self._tried = True
        if self._other or torch.autograd._profiler_enabled():
            self._failed("the program has a profiler of its own")
            return
        self.last += self._count - self.first
        self.first = self._count
        try:
            with self._recorder.quiet():
                self._profiler = _profiler()
                self._profiler.__enter__()
        except Exception as error:  # this build has no profiler for the device
            self._profiler = None
            self._failed(f"{type(error).__name__}: {str(error)[:120]}")
            return
        self._exclude(True)
        self._log = log = Log(time_ns())
        self._recorder.heard = lambda *what: log.heard(time_ns(), *what)
        self._before = {kind: self._counted(kind) for kind in KINDS.values()}

    def _end(self) -> None:
        profiler, self._profiler = self._profiler, None
        self._exclude(False)
        self._recorder.heard = None
        seen = {kind: self._counted(kind) - before for kind, before in self._before.items()}
        try:
            with self._recorder.quiet():
                profiler.__exit__(None, None, None)
            events = list(profiler.events() or ())
        except Exception as error:  # as above
            self._failed(f"{type(error).__name__}: {str(error)[:120]}")
            return
        steps = self._count - self.first
        self.found = {"steps": steps, "copies": copies_of(events), "seen": seen, "waits": waits_of(events)}
        self.found |= self._followed(profiler, events)

    def _followed(self, profiler: Any, events: Sequence[Any]) -> dict[str, Any]:
        try:
            results = profiler.profiler.kineto_results
            device = Device(events, self._log, int(results.trace_start_ns()), sizes_of(results))
            return {"device": device.picture(), "blocked": device.blocked()}
        except Exception as error:  # an internal interface of torch
            self.watch.notes.append(f"the device was not followed: {type(error).__name__}: {str(error)[:120]}")
            return {"device": None, "blocked": None}

    def _exclude(self, excluded: bool) -> None:
        self._recorder.excluded = self.watch.steps.excluding = excluded

    def _counted(self, kind: str) -> int:
        return sum(count.number for _, _, count in self._recorder.of(kind))

    def _failed(self, why: str) -> None:
        self.watch.notes.append(f"no step was profiled: {why}")


def _profiler() -> Any:
    """A profiler of the device and of the calls to it; with the bytes of copies, if this torch can tell them."""
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile

    options: dict[str, Any] = {"activities": [ProfilerActivity.CUDA], "acc_events": True}
    with contextlib.suppress(TypeError):  # torch before 2.10
        options["experimental_config"] = _ExperimentalConfig(expose_kineto_event_metadata=True)
    return profile(**options)


def _capturing() -> bool:
    """Whether the program captures a graph, which the profiler would break."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def copies_of(events: Iterable[Any]) -> list[dict[str, Any]]:
    """The copies between host and device among the events of a profiler: name, kind, count and microseconds in all."""
    copies = [event for event in events if str(event.name).startswith("Memcpy")]
    return [
        {**summed, "kind": kind}
        for sign, kind in KINDS.items()
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
