"""Instruments: each watches one kind of operation in the program, and counts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Sites
from torchlint.runtime.steps import Steps


class Watch(NamedTuple):
    """What instruments share: the order and mode of the run, and the recorder for events."""

    order: Mapping[str, Any]
    mode: str
    recorder: Recorder
    sites: Sites
    steps: Steps
    notes: list[str]


class Instrument:
    """Base class of instruments. Classes in ``torchlint.runtime.instruments`` are found automatically.

    ``modes`` are the modes in which it is active.
    """

    modes: ClassVar[frozenset[str]] = frozenset(("gpu", "sim", "cpu"))

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._recorder = watch.recorder
        self._sites = watch.sites

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """Whether it has anything to watch in this run."""
        return watch.mode in cls.modes

    def prepare(self) -> None:
        """Called before the simulated GPU is installed."""

    def install(self, patches: Patches) -> None:
        """Wrap the functions to watch."""

    def forked(self) -> None:
        """Reset the counts in a child process."""

    def stepped(self, count: int) -> None:
        """Called at the end of every step."""

    def finish(self) -> None:
        """Called at the end of the program, to record what is only known then."""

    def stop(self) -> None:
        """Called at the end of the observation, which may be in the middle of a step."""

    def written(self) -> dict[str, Any]:
        """Plain data for the evidence, beside events."""
        return {}
