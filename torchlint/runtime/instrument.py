"""What an instrument is: it watches one thing that programs do, and counts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Sites
from torchlint.runtime.steps import Steps


class Watch(NamedTuple):
    """What instruments share: the order and mode of the run, and where they leave what they see."""

    order: Mapping[str, Any]
    mode: str
    recorder: Recorder
    sites: Sites
    steps: Steps
    notes: list[str]


class Instrument:
    """Derive from this in a module of ``torchlint.runtime.instruments``: those are found by walking.

    ``modes`` are the modes in which it watches.
    """

    modes: ClassVar[frozenset[str]] = frozenset(("gpu", "sim", "cpu"))

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._recorder = watch.recorder
        self._sites = watch.sites

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """It has something to watch in this run."""
        return watch.mode in cls.modes

    def prepare(self) -> None:
        """Look at torch before the simulated GPU is put in place."""

    def install(self, patches: Patches) -> None:
        """Wrap what it watches."""

    def forked(self) -> None:
        """Begin anew in a child process."""

    def stepped(self, count: int) -> None:
        """A step is done."""

    def finish(self) -> None:
        """Record what only the end of the run can tell."""

    def stop(self) -> None:
        """The run is over, perhaps in the middle of a step."""

    def written(self) -> dict[str, Any]:
        """What belongs in the evidence beside events, as plain data."""
        return {}
