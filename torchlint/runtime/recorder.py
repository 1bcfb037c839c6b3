"""Counts the events of a run, by kind, site and facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from torchlint.runtime.occurrences import Occurrences
from torchlint.runtime.phases import NAMES, Ledger
from torchlint.runtime.reservoir import Reservoir
from torchlint.runtime.sites import Site
from torchlint.runtime.timeline import Timeline

Facts = tuple[tuple[str, object], ...]
Hears = Callable[[str, Site, int, Mapping[str, object]], None]
_OFTEN = 2048
_SAMPLE = 32


class Count:
    """Numbers of events, bytes, and nanoseconds on the host: in all, and for each phase.

    Events of a segment whose phase is not known yet are kept apart until it is. ``callers`` are the frames of user code
    in which the first one happened.
    """

    __slots__ = (
        "_ledger",
        "_open",
        "_parts",
        "_segment",
        "bytes",
        "callers",
        "durations",
        "nanoseconds",
        "number",
        "phases",
        "steady",
        "steps",
    )

    def __init__(self, ledger: Ledger, callers: Sequence[tuple[str, int, str]] = ()) -> None:
        self.callers = callers
        self.durations = Reservoir(_SAMPLE)
        self.steps = Occurrences()
        self.number = self.bytes = self.nanoseconds = 0
        self.phases: dict[int, list[int]] = {}
        self.steady = [0, 0, 0]
        self._ledger = ledger
        self._segment = -1
        self._open: list[int] = []
        self._parts: dict[int, list[int]] = {}

    def add(self, size: int, nanoseconds: int) -> None:
        """Count one event."""
        self.number += 1
        self.bytes += size
        self.nanoseconds += nanoseconds
        if nanoseconds:
            self.durations.add(nanoseconds)
        if self._ledger.current != self._segment:
            self.settle()
            self._segment = self._ledger.current
            self._open = self._parts.setdefault(self._segment, [0, 0, 0])
        part = self._open
        part[0] += 1
        part[1] += size
        part[2] += nanoseconds

    def settle(self) -> None:
        """Add the events of decided segments to their phases."""
        ledger, parts = self._ledger, self._parts
        decided = [segment for segment in parts if ledger.phase(segment)]
        if len(decided) > 1:
            decided.sort(key=ledger.step)
        for segment in decided:
            part = parts.pop(segment)
            phase, step, steady = ledger.outcome(segment)
            if step:
                self.steps.add(step)
            _add(self.phases.setdefault(phase, [0, 0, 0]), part)
            if steady:
                _add(self.steady, part)

    def written(self) -> dict[str, Any]:
        """The figures as plain data."""
        self.settle()
        return {
            "count": self.number,
            "bytes": self.bytes,
            "ns": self.nanoseconds,
            "steady": self.steady,
            "phases": {NAMES[phase]: figures for phase, figures in self.phases.items()},
            "each": self.durations.range,
            "steps": self.steps.runs,
            "callers": [list(caller) for caller in self.callers],
        }


def _add(total: list[int], part: list[int]) -> None:
    total[0] += part[0]
    total[1] += part[1]
    total[2] += part[2]


@dataclass
class Recorder:
    """Counts events. Several threads may record at the same time; ``quiet`` applies to one thread.

    ``now_and_then`` is called after every two thousand events, so that little is lost if a process is killed. Events in
    steps that are ``excluded`` from the figures per step are counted without time. ``timeline`` samples events;
    ``callers`` finds the frames of user code; ``heard`` is called with the kind, site, nanoseconds and facts of each.
    """

    counts: dict[tuple[str, Site, Facts], Count] = field(default_factory=dict)
    now_and_then: Callable[[], None] | None = None
    ledger: Ledger = field(default_factory=Ledger)
    timeline: Timeline | None = None
    callers: Callable[[], Sequence[tuple[str, int, str]]] = tuple
    excluded: bool = False
    heard: Hears | None = None

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
        self.excluded = False
        self.heard = None

    @property
    def listening(self) -> bool:
        """Whether events of this thread are counted."""
        return getattr(self._own, "silenced", 0) == 0

    def add(self, kind: str, site: Site, size: int = 0, nanoseconds: int = 0, **facts: object) -> None:
        """Count one event. ``size`` is in bytes; ``facts`` must be hashable; None says nothing."""
        if getattr(self._own, "silenced", 0) or torch._C._get_tracing_state() is not None:
            return
        with self._lock:
            self.counter(kind, site, facts).add(size, 0 if self.excluded else nanoseconds)
            self._events += 1
            if self.timeline is not None and self.timeline.recording:
                self.timeline.add(kind, site, size, nanoseconds)
            if self.heard is not None:
                self.heard(kind, site, nanoseconds, facts)
        if self.now_and_then is not None and self._events % _OFTEN == 0:
            self.now_and_then()

    def counter(self, kind: str, site: Site, facts: Mapping[str, object]) -> Count:
        """The counter of equal events, for frequent events; :meth:`forked` invalidates it."""
        key = (kind, site, tuple(facts.items()))
        count = self.counts.get(key)
        if count is None:
            count = self.counts[key] = Count(self.ledger, self.callers())
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

    def paths(self) -> set[str]:
        """The files in which events happened, or functions that called them."""
        with self._lock:
            counts = list(self.counts.items())
        callers = {path for _, count in counts for path, _, _ in count.callers}
        return callers | {site.path for (_, site, _), _ in counts if site.path}

    def written(self) -> list[dict[str, Any]]:
        """All events as plain data."""
        with self._lock:
            counts = list(self.counts.items())
        return [
            {
                "kind": kind,
                "site": list(site),
                **count.written(),
                "facts": {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in facts
                    if value is not None
                },
            }
            for (kind, site, facts), count in counts
        ]
