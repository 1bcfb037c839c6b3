"""Counts the events of a run, by kind, site and facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from torchlint.runtime.sites import Site

Facts = tuple[tuple[str, object], ...]
_OFTEN = 2048


class Count:
    """Numbers of events, bytes, and nanoseconds on the host: in all, and between the first and the last step.

    Events after the end of a step belong to the next one, which may never come: they are kept separately until it does.
    """

    __slots__ = ("_pending", "_steady", "_step", "bytes", "nanoseconds", "number")

    def __init__(self) -> None:
        self.number = self.bytes = self.nanoseconds = 0
        self._steady, self._pending, self._step = [0, 0, 0], [0, 0, 0], 0

    def add(self, size: int, nanoseconds: int, step: int) -> None:
        """Count one event after ``step`` steps."""
        self.number += 1
        self.bytes += size
        self.nanoseconds += nanoseconds
        if step:
            self._settle(step)
            pending = self._pending
            pending[0] += 1
            pending[1] += size
            pending[2] += nanoseconds

    def _settle(self, step: int) -> None:
        if step != self._step:
            steady, pending = self._steady, self._pending
            for figure in (0, 1, 2):
                steady[figure] += pending[figure]
                pending[figure] = 0
            self._step = step

    def steady(self, step: int) -> list[int]:
        """The same three figures, for all complete steps but the first."""
        self._settle(step)
        return self._steady


@dataclass
class Recorder:
    """Counts events. Several threads may record at the same time; ``quiet`` applies to one thread.

    ``now_and_then`` is called after every two thousand events, so that little is lost if a process is killed. Events in
    steps that are ``excluded`` from the figures per step are counted, but without time, and only in the whole run.
    """

    counts: dict[tuple[str, Site, Facts], Count] = field(default_factory=dict)
    now_and_then: Callable[[], None] | None = None
    step: int = 0
    excluded: bool = False

    def __post_init__(self) -> None:
        self.forked()
        self._own = threading.local()

    def forked(self) -> None:
        """Reset in a child process, whose lock another thread of the parent may have held.

        Signal handlers write the evidence at any time: the lock is reentrant.
        """
        self._lock = threading.RLock()
        self._events = 0
        self.counts = {}
        self.step = 0
        self.excluded = False

    @property
    def listening(self) -> bool:
        """Whether events of this thread are counted."""
        return getattr(self._own, "silenced", 0) == 0

    def add(self, kind: str, site: Site, size: int = 0, nanoseconds: int = 0, **facts: object) -> None:
        """Count one event. ``size`` is in bytes; ``facts`` must be hashable; None says nothing."""
        if getattr(self._own, "silenced", 0) or torch._C._get_tracing_state() is not None:
            return
        with self._lock:
            if self.excluded:
                self.counter(kind, site, facts).add(size, 0, 0)
            else:
                self.counter(kind, site, facts).add(size, nanoseconds, self.step)
            self._events += 1
        if self.now_and_then is not None and self._events % _OFTEN == 0:
            self.now_and_then()

    def counter(self, kind: str, site: Site, facts: Mapping[str, object]) -> Count:
        """The counter of equal events, for frequent events; :meth:`forked` invalidates it."""
        key = (kind, site, tuple(facts.items()))
        count = self.counts.get(key)
        if count is None:
            count = self.counts[key] = Count()
        return count

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """A context whose events are torchlint's own and not counted."""
        before = getattr(self._own, "silenced", 0)
        self._own.silenced = before + 1
        try:
            yield
        finally:
            self._own.silenced = before

    def of(self, kind: str) -> list[tuple[Site, dict[str, object], Count]]:
        """The events of one kind."""
        with self._lock:
            return [(site, dict(facts), count) for (name, site, facts), count in self.counts.items() if name == kind]

    def written(self) -> list[dict[str, Any]]:
        """All events as plain data."""
        with self._lock:
            counts = list(self.counts.items())
        return [
            {
                "kind": kind,
                "site": list(site),
                "count": count.number,
                "bytes": count.bytes,
                "ns": count.nanoseconds,
                "steady": count.steady(self.step),
                "facts": {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in facts
                    if value is not None
                },
            }
            for (kind, site, facts), count in counts
        ]
