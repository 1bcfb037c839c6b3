"""Times steps on the device with CUDA events, every few steps, without waiting for them.

Between two steps of the optimizer the host may only have submitted work: a program that never reads anything is ahead
of the device, and its steps look shorter than they are.
"""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any, NamedTuple

import torch

from torchlint.runtime.instrument import Instrument, Watch

EVERY = 4
_KEPT = 512


class _Moment(NamedTuple):
    """A point in the work of a device, after some steps."""

    event: Any
    device: int
    step: int
    excluded: int


class DeviceSteps(Instrument):
    """Records an event after every fourth step, and reads the events that the device has passed."""

    modes = frozenset(("gpu",))

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._begin()

    def forked(self) -> None:
        """Begin anew in a child process.

        The events of the parent are kept until the child ends: their destructor calls CUDA, which fails in a forked
        process, and torch 2.11 does not catch that exception, so that the process would be aborted.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((self._waiting, self._last)))
        self._begin()

    def _begin(self) -> None:
        self._waiting: deque[_Moment] = deque()
        self._last: _Moment | None = None
        self.durations: list[int] = []

    def stepped(self, count: int) -> None:
        """Record the end of a step."""
        if count % EVERY or len(self.durations) >= _KEPT or not torch.cuda.is_initialized():
            return
        if not torch.cuda.is_current_stream_capturing():  # a recorded event would be a part of the graph
            self._record(count)
            self._read()

    def finish(self) -> None:
        """Read what the device has passed by now, unless the program ended while it was capturing a graph."""
        if self._waiting and not torch.cuda.is_current_stream_capturing():
            self._read()

    def written(self) -> dict[str, Any]:
        """The median step. The first interval contains initialization, and is ignored if there are more."""
        kept = sorted(self.durations[1:] or self.durations)
        return {"device_steps": {"count": len(kept), "median_ns": kept[len(kept) // 2] if kept else None}}

    def _record(self, count: int) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        steps = self.watch.steps
        self._waiting.append(_Moment(event, torch.cuda.current_device(), count, steps.excluded + steps.excluding))

    def _read(self) -> None:
        """Read the events that the device has passed. A query during a capture would end it with an error."""
        while self._waiting and self._waiting[0].event.query():
            last, now = self._last, self._waiting.popleft()
            self._last = now
            # Events of two devices cannot be compared, and profiled steps take longer.
            if last is not None and (last.device, last.excluded) == (now.device, now.excluded) and now.step > last.step:
                milliseconds = last.event.elapsed_time(now.event)
                self.durations.append(int(milliseconds * 1e6) // (now.step - last.step))
