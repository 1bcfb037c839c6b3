"""A small model of a host that launches work and a device that does it in order, which tells what a profiler would see.

Times are microseconds. The host is blocked where the real one is: in reads, in blocking copies, and by a full queue.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch.autograd import DeviceType

from torchlint.runtime.blocked import Log
from torchlint.runtime.busy import Device
from torchlint.runtime.sites import Site

ORIGIN = 1_000_000_000_000
LAUNCH, RUNTIME = 5.0, 8.0  # what it takes the host to launch a kernel, and to call the runtime for a copy or a wait
MAIN, BACKWARD = 11, 12  # threads


def at(us: float) -> int:
    """A moment in nanoseconds since 1970."""
    return ORIGIN + round(us * 1000)


def event(name: str, start: float, end: float, **more: Any) -> Any:
    """An event as ``profiler.events()`` gives it: microseconds since the profile began."""
    host = name.startswith("cuda")
    given = {
        "name": name,
        "time_range": SimpleNamespace(start=start, end=end),
        "device_type": DeviceType.CPU if host else DeviceType.CUDA,
        "device_index": 0,
        "device_resource_id": MAIN if host else 7,
        "is_user_annotation": False,
        "activity_type": "cuda_runtime" if host else "kernel",
        "id": 0,
        **more,
    }
    return SimpleNamespace(**given)


def line(number: int) -> Site:
    """A line of the program."""
    return Site("train.py", number, 0, number, 9)


class Machine:
    """What a program does; each method is one statement of it."""

    def __init__(self) -> None:
        self.now = self.free = 0.0
        self.events: list[Any] = []
        self.log = Log(ORIGIN)
        self.sizes: dict[int, int] = {}
        self.thread = MAIN
        self._last = 0

    def work(self, us: float) -> None:
        """Python that launches nothing."""
        self.now += us

    def launch(self, us: float) -> None:
        """A kernel."""
        number = self._call("cudaLaunchKernel", LAUNCH)
        self._device("gemm", us, number)

    def read(self, site: Site, *, mentioned: bool = True) -> None:
        """``.item()``: a number is copied to the host, which waits; torch says so afterwards."""
        self._device("Memcpy DtoH (Device -> Pinned)", 1.0, self._copy(4))
        self._wait()
        if mentioned:
            self.mention(site)

    def mention(self, site: Site) -> None:
        """Torch says that a call has waited."""
        self.now += 10.0
        self.log.heard(at(self.now), "sync", site, 0, {"why": "stream"})

    def upload(self, us: float, size: int, site: Site | None, *, blocking: bool = True) -> None:
        """A copy to the device that takes it some time; with a site, it is recorded at its call."""
        begun = self.now
        memory = "Pageable" if blocking else "Pinned"
        self._device(f"Memcpy HtoD ({memory} -> Device)", us, self._copy(size))
        if blocking:
            self._wait()
        spent = self.now - begun
        if site is not None:
            self.now += 20.0
            self.log.heard(at(self.now), "upload", site, round(spent * 1000), {"non_blocking": not blocking})

    def synchronize(self) -> None:
        """A wait inside a library, of which torch says nothing."""
        self._wait()

    def step(self) -> None:
        """A step ends."""
        self.log.stepped(at(self.now))

    def device(self) -> Device:
        """What the profiler has seen."""
        return Device(self.events, self.log, ORIGIN, self.sizes)

    def idle(self) -> dict[tuple[str, int], float]:
        """Microseconds a step in which the device computes nothing, by kind and line."""
        found = self.device().blocked()
        assert found is not None
        return {(one["kind"], one["site"][1]): one["idle_ns"] / 1000 / found["steps"] for one in found["lines"]}

    def _call(self, name: str, us: float) -> int:
        self._last += 1
        begun, self.now = self.now, self.now + us
        self.events.append(event(name, begun, self.now, id=self._last, device_resource_id=self.thread))
        return self._last

    def _copy(self, size: int) -> int:
        number = self._call("cudaMemcpyAsync", RUNTIME)
        self.sizes[number] = size
        return number

    def _device(self, name: str, us: float, number: int) -> None:
        begun = max(self.now, self.free)
        self.free = begun + us
        self.events.append(event(name, begun, self.free, id=number))

    def _wait(self) -> None:
        until = max(self.free, self.now) + 3.0
        self._call("cudaStreamSynchronize", until - self.now)
