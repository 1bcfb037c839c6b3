"""Profiles a few steps with torch's profiler, to time copies on the device.

Starting and stopping the profiler synchronizes, which no other instrument does: it is used only on request, and the
steps around it are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchlint.runtime.instrument import Instrument, Watch

FIRST, LAST = 10, 14
_KINDS = {"HtoD": "upload", "DtoH": "download"}


class Profiled(Instrument):
    """Profiles the steps from ``FIRST`` to ``LAST``, and counts the events of other instruments in them."""

    modes = frozenset(("gpu",))

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._profiler: Any = None
        self._before: dict[str, int] = {}
        self.found: dict[str, Any] | None = None

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """Whether it was requested."""
        return super().wanted(watch) and bool(watch.order.get("copy_times"))

    def written(self) -> dict[str, Any]:
        """The timed copies."""
        return {"profiled": self.found}

    def _counted(self, kind: str) -> int:
        return sum(count.number for _, _, count in self._recorder.of(kind))

    def stepped(self, count: int) -> None:
        """A step is done."""
        if count == FIRST and self._profiler is None and self.found is None:
            self._begin()
        elif count >= LAST and self._profiler is not None:
            self._end(count)

    def _begin(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        try:
            profiler = profile(activities=[ProfilerActivity.CUDA], acc_events=True)
            profiler.__enter__()
        except Exception as error:  # another profiler is running, or this build has none for the device
            self.watch.notes.append(f"copies could not be timed: {type(error).__name__}: {str(error)[:120]}")
            return
        self._profiler = profiler
        self._before = {kind: self._counted(kind) for kind in _KINDS.values()}

    def _end(self, count: int) -> None:
        profiler, self._profiler = self._profiler, None
        seen = {kind: self._counted(kind) - before for kind, before in self._before.items()}
        try:
            profiler.__exit__(None, None, None)
            copies = copies_of(profiler.events() or ())
        except Exception as error:  # as above
            self.watch.notes.append(f"copies could not be timed: {type(error).__name__}: {str(error)[:120]}")
            return
        self.found = {"steps": count - FIRST, "copies": copies, "seen": seen}

    def stop(self) -> None:
        """End the profiling, perhaps in the middle of a step."""
        if self._profiler is not None:
            self._end(LAST)


def copies_of(events: Iterable[Any]) -> list[dict[str, Any]]:
    """The copies between host and device among the events of a profiler: name, kind, count and microseconds in all."""
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        name = str(event.name)
        kind = next((kind for sign, kind in _KINDS.items() if name.startswith("Memcpy") and sign in name), None)
        if kind is None:
            continue
        copy = found.setdefault(name, {"name": name, "kind": kind, "count": 0, "us": 0.0})
        copy["count"] += 1
        copy["us"] += float(event.time_range.elapsed_us())
    return sorted(found.values(), key=lambda copy: -float(copy["us"]))
