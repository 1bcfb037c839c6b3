"""``torch.cuda`` and ``torch.accelerator`` as on a machine with GPUs."""

from __future__ import annotations

import time
from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

NAME = "torchlint simulated GPU"
_MEMORY = 16 << 30
_ZERO = "memory_allocated max_memory_allocated memory_reserved max_memory_reserved utilization temperature"
_NOTHING = (
    "seed seed_all empty_cache reset_peak_memory_stats reset_max_memory_allocated manual_seed manual_seed_all "
    "ipc_collect init "
    "_lazy_init set_rng_state set_rng_state_all reset_accumulated_memory_stats set_per_process_memory_fraction"
)
_BINDINGS = ("_cuda_getDevice", "_cuda_exchangeDevice", "_cuda_maybeExchangeDevice")


def install(simulation: Machine) -> None:
    """Replace the functions with which programs query CUDA."""
    patches, cuda = simulation.patches, torch.cuda
    streams = _streams(simulation)
    known = SimpleNamespace(
        name=NAME,
        major=8,
        minor=0,
        total_memory=_MEMORY,
        multi_processor_count=80,
        max_threads_per_multi_processor=2048,
        warp_size=32,
        is_integrated=False,
        is_multi_gpu_board=False,
        gcnArchName="",
    )

    patches.set_all(
        cuda,
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: simulation.devices,
        current_device=lambda: simulation.current,
        set_device=lambda device: _use(simulation, device),
        get_device_name=lambda *_: NAME,
        get_device_capability=lambda *_: (8, 0),
        get_device_properties=lambda *_: known,
        is_bf16_supported=lambda *_, **__: True,
        is_current_stream_capturing=lambda: False,
        mem_get_info=lambda *_: (_MEMORY, _MEMORY),
        memory_stats=lambda *_: defaultdict(int),
        memory_summary=lambda *_, **__: "nothing is known of the memory of a simulated device",
        initial_seed=torch.initial_seed,
        can_device_access_peer=lambda *_: False,
        synchronize=_waiting(simulation),
        get_rng_state=lambda *_: torch.get_rng_state(),
        get_rng_state_all=lambda: [torch.get_rng_state()],
        device=_context(simulation),
        device_of=_context(simulation),
        Stream=streams.Stream,
        Event=streams.Event,
        stream=lambda stream: stream or streams.Stream(),
        current_stream=lambda *_: streams.Stream(),
        default_stream=lambda *_: streams.Stream(),
    )
    patches.set_all(cuda, **{name: _always(0) for name in _ZERO.split()})
    patches.set_all(cuda, **{name: _always(None) for name in _NOTHING.split()})
    for name in _BINDINGS:
        if not hasattr(torch._C, name):
            patches.set(torch._C, name, _always(0))
    _install_accelerator(simulation, streams)


def _waiting(simulation: Machine) -> Any:
    def synchronize(*_: Any, **__: Any) -> None:
        simulation.sync("synchronize")

    return synchronize


def _install_accelerator(simulation: Machine, streams: Any) -> None:
    if not hasattr(torch, "accelerator"):
        return
    simulation.patches.set_all(
        torch.accelerator,
        is_available=lambda: True,
        current_accelerator=lambda *_, **__: torch.device("cuda"),
        device_count=lambda: simulation.devices,
        current_device_index=lambda: simulation.current,
        current_device_idx=lambda: simulation.current,
        set_device_index=lambda device: _use(simulation, device),
        current_stream=lambda *_: streams.Stream(),
        synchronize=_waiting(simulation),
    )


def _always(value: Any) -> Any:
    """A new function on every call: Dynamo refuses one function with two names."""
    return lambda *_, **__: value


def _use(simulation: Machine, device: Any) -> None:
    index = simulation.index(device)
    if index is not None:
        simulation.current = index


def _context(simulation: Machine) -> Any:
    class Device:
        """``with torch.cuda.device(1):``."""

        def __init__(self, device: Any) -> None:
            self.idx = simulation.index(device.device if isinstance(device, torch.Tensor) else device)
            self.prev_idx = simulation.current

        def __enter__(self) -> None:
            self.prev_idx = simulation.current
            if self.idx is not None:
                simulation.current = self.idx

        def __exit__(self, *_: object) -> None:
            simulation.current = self.prev_idx

    return Device


def _streams(simulation: Machine) -> Any:  # noqa: C901 - two classes with the methods of the real ones
    class Event:
        """An event of the simulated device, which is always complete."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._time = time.perf_counter()

        def record(self, *_: Any) -> None:
            """Record the current time of the host."""
            self._time = time.perf_counter()

        def synchronize(self) -> None:
            """Wait, which is recorded."""
            simulation.sync("event.synchronize")

        def wait(self, *_: Any) -> None:
            """Have a stream wait: nothing is queued."""

        def query(self) -> bool:
            """It has happened."""
            return True

        def elapsed_time(self, other: Any) -> float:
            """Milliseconds on the host."""
            return float((other._time - self._time) * 1e3)

    class Stream:
        """A stream of the simulated device, which is always idle."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self.device = torch.device("cuda", simulation.current)
            self.device_index = simulation.current
            self.cuda_stream = self.stream_id = 0

        def __enter__(self) -> Stream:
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Stream)

        __hash__ = None  # type: ignore[assignment]

        def synchronize(self) -> None:
            """Wait, which is recorded."""
            simulation.sync("stream.synchronize")

        def wait_stream(self, other: Any) -> None:
            """Have a stream wait: nothing is queued."""

        def wait_event(self, event: Any) -> None:
            """Have a stream wait: nothing is queued."""

        def record_event(self, event: Any = None) -> Any:
            """An event that is complete."""
            event = event or Event()
            event.record()
            return event

        def query(self) -> bool:
            """Nothing is queued."""
            return True

        def is_capturing(self) -> bool:
            """CUDA graphs are not simulated."""
            return False

    return SimpleNamespace(Event=Event, Stream=Stream)
