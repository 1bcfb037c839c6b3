"""A sampled trace: every event of a few steps, with its time."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, NamedTuple

from torchlint.runtime.phases import EVALUATION, NAMES, TRAINING
from torchlint.runtime.sites import Site

STEPS, ENTRIES = 6, 2000
_EACH = ENTRIES // STEPS
_EARLIEST = 2


class _Entry(NamedTuple):
    start: int
    spent: int
    kind: str
    site: Site
    size: int


@dataclass(frozen=True)
class _Sample:
    """One step: its number and phase, when it began and how long it took, and its events."""

    number: int
    phase: int
    begun: int
    spent: int
    entries: list[_Entry]


class Timeline:
    """Samples the first two steps, and the latest four of those whose numbers are powers of four.

    ``recording`` says whether events are wanted now.
    """

    def __init__(self) -> None:
        self.forked()

    def forked(self) -> None:
        """Begin anew in a child process."""
        self.recording = True
        self.dropped = 0
        self._wanted = {TRAINING: True, EVALUATION: True}
        self._begun = perf_counter_ns()
        self._held: list[_Entry] = []
        self._entries: list[_Entry] = []
        self._samples: list[_Sample] = []

    def add(self, kind: str, site: Site, size: int, nanoseconds: int) -> None:
        """An event that has just ended."""
        if len(self._entries) + len(self._held) < _EACH:
            self._entries.append(_Entry(perf_counter_ns() - nanoseconds, nanoseconds, kind, site, size))
        else:
            self.dropped += 1

    def wait(self, *, begun: bool) -> None:
        """What was recorded belongs to the next step of training; before the first step has ``begun``, to none."""
        self._held = [*self._held, *self._entries] if begun else []
        self._entries = []
        if not begun:
            self._begun, self.dropped = perf_counter_ns(), 0

    def end(self, number: int, phase: int, spent: int, *, first: bool, done: int) -> None:
        """A step ends, the one with this number; ``done`` of its phase are done."""
        if self.recording:
            training = phase == TRAINING
            entries = [*self._held, *self._entries] if training and not first else self._entries
            if self._wanted[phase]:
                self._keep(_Sample(number, phase, self._begun, spent, entries))
            self._held, self._entries = [] if training else self._held, []
        self._begun = perf_counter_ns()
        self._wanted[phase] = _is_wanted(done + 1)
        self.recording = self._wanted[TRAINING] or (phase == EVALUATION and self._wanted[EVALUATION])

    def _keep(self, sample: _Sample) -> None:
        self._samples.append(sample)
        if len(self._samples) > STEPS:
            del self._samples[_EARLIEST]

    def written(self) -> dict[str, Any]:
        """The samples as plain data; events name their site by its index in a table."""
        sites = list(dict.fromkeys(entry.site for sample in self._samples for entry in sample.entries))
        index = {site: number for number, site in enumerate(sites)}
        return {
            "sites": [list(site) for site in sites],
            "dropped": self.dropped,
            "steps": [_written(sample, index) for sample in self._samples],
        }


def _written(sample: _Sample, index: dict[Site, int]) -> dict[str, Any]:
    begun = min([sample.begun, *(entry.start for entry in sample.entries)])
    return {
        "step": sample.number,
        "phase": NAMES[sample.phase],
        "ns": sample.spent,
        "entries": [[e.start - begun, e.spent, e.kind, index[e.site], e.size] for e in sample.entries],
    }


def _is_wanted(number: int) -> bool:
    """Whether a number is 1, 2 or a power of four."""
    return number <= _EARLIEST or (number & (number - 1) == 0 and number.bit_length() % 2 == 1)
