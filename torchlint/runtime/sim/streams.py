"""Streams and events of simulated devices: nothing is ever queued."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_CUDA = 1  # torch's number for this type of device


class Streams:
    """The classes of streams and events, and the current stream of each thread and device."""

    def __init__(self, simulation: Machine) -> None:
        self._sim = simulation
        self._own = threading.local()
        self._numbers = itertools.count(1)
        event = _event_class(simulation)
        stream = _stream_class(self, simulation, event)
        self._classes = {"Event": event, "Stream": stream, "StreamContext": _context_class(self)}
        self._defaults = [self._numbered(stream, index) for index in range(simulation.devices)]
        for name, own in (("Stream", stream), ("Event", event)):
            if hasattr(torch, name):
                simulation.patches.set(torch, name, _generic(getattr(torch, name), own))
            base = getattr(sys.modules.get("torch._streambase"), f"_{name}Base", None)
            if isinstance(base, ABCMeta):  # torch 2.4 and 2.5
                base.register(own)

    def _numbered(self, stream: Any, index: int) -> Any:
        made = stream(index)
        made.stream_id = made.cuda_stream = 0
        return made

    def new_number(self) -> int:
        """The number of a new stream."""
        return next(self._numbers)

    def classes(self) -> dict[str, Any]:
        """The classes, by their names in ``torch.cuda``."""
        return dict(self._classes)

    def functions(self) -> dict[str, Any]:
        """The functions, by their names in ``torch.cuda`` and ``torch.accelerator``."""
        return {
            "stream": self._classes["StreamContext"],
            "set_stream": self.use,
            "current_stream": self.current,
            "default_stream": lambda device=None: self._defaults[self._index(device)],
        }

    def _index(self, device: Any) -> int:
        index = self._sim.index(device)
        return self._sim.current if index is None else index

    def current(self, device: Any = None) -> Any:
        """The current stream of a device."""
        index = self._index(device)
        return getattr(self._own, "current", {}).get(index, self._defaults[index])

    def use(self, stream: Any) -> None:
        """Make a stream the current one of its device."""
        if stream is not None:
            self._own.current = {**getattr(self._own, "current", {}), stream.device_index: stream}


def _generic(real: Any, own: Any) -> Any:
    """``torch.Stream(device="cuda")``, of which streams of ``torch.cuda`` are instances."""

    class Meta(type):
        def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
            kind = torch.device(device).type if isinstance(device, str) else getattr(device, "type", "cuda")
            return own(device, *args, **kwargs) if kind == "cuda" else real(device, *args, **kwargs)

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, (own, real))

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, (own, real))

    return Meta(real.__name__, (), {"__module__": real.__module__, "__doc__": real.__doc__})


def _event_class(simulation: Machine) -> Any:
    class Event:
        """An event of the simulated device, which is always complete."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._time = time.perf_counter()
            self.device = torch.device("cuda", simulation.current)
            self.cuda_event = self.event_id = 0

        def record(self, stream: Any = None) -> None:
            """Record the current time of the host."""
            self._time = time.perf_counter()

        def synchronize(self) -> None:
            """Wait, which is recorded."""
            simulation.sync("event.synchronize")

        def wait(self, stream: Any = None) -> None:
            """Have a stream wait: nothing is queued."""

        def query(self) -> bool:
            """It has happened."""
            return True

        def elapsed_time(self, end_event: Any) -> float:
            """Milliseconds on the host."""
            return float((end_event._time - self._time) * 1e3)

    return Event


def _stream_class(  # noqa: C901 - the methods of the real one
    streams: Streams, simulation: Machine, event_class: Any
) -> Any:
    class Stream:
        """A stream of the simulated device, which is always idle."""

        device_type = _CUDA

        def __init__(self, device: Any = None, priority: int = 0, **given: Any) -> None:
            index = simulation.index(device)
            self.device_index = simulation.current if index is None else index
            self.device = torch.device("cuda", self.device_index)
            self.priority = priority
            self.stream_id = given.get("stream_id") or streams.new_number()
            self.cuda_stream = given.get("stream_ptr") or self.stream_id

        @staticmethod
        def priority_range() -> tuple[int, int]:
            """The lowest and the highest priority."""
            return (0, -5)

        def __enter__(self) -> Any:
            self._before = streams.current(self.device)
            streams.use(self)
            return self

        def __exit__(self, *_: object) -> None:
            streams.use(self._before)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Stream) and hash(self) == hash(other)

        def __hash__(self) -> int:
            return hash((self.device_index, self.stream_id))

        def __repr__(self) -> str:
            return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

        def synchronize(self) -> None:
            """Wait, which is recorded."""
            simulation.sync("stream.synchronize")

        def wait_stream(self, stream: Any) -> None:
            """Have a stream wait: nothing is queued."""

        def wait_event(self, event: Any) -> None:
            """Have a stream wait: nothing is queued."""

        def record_event(self, event: Any = None) -> Any:
            """An event that is complete."""
            event = event or event_class()
            event.record()
            return event

        def query(self) -> bool:
            """Nothing is queued."""
            return True

        def is_capturing(self) -> bool:
            """CUDA graphs are not simulated."""
            return False

    return Stream


def _context_class(streams: Streams) -> Any:
    class StreamContext:
        """``with torch.cuda.stream(stream):``."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream
            self._before: Any = None

        def __enter__(self) -> None:
            if self.stream is not None:
                self._before = streams.current(self.stream.device)
                streams.use(self.stream)

        def __exit__(self, *_: object) -> None:
            streams.use(self._before)

    return StreamContext
