"""``python -m tests.gpu_runs ORDER``: a program under the instruments of a GPU, on a machine without one.

Events of its steps stand in for those of CUDA, which end a forked process that destroys them.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from torchlint.runtime import __main__, modes
from torchlint.runtime.instrument import Watch
from torchlint.runtime.instruments import device_steps


class Event:
    """An event that no device has passed yet."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def query(self) -> bool:
        """Whether the device has passed it."""
        return False

    def __del__(self) -> None:
        if os.getpid() != self._process:
            os._exit(134)


class DeviceSteps(device_steps.DeviceSteps):
    """Records the stand-in."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._last = device_steps._Moment(Event(), 0, 0, 0)

    def stepped(self, count: int) -> None:
        """At the end of a step."""
        self._waiting.append(device_steps._Moment(Event(), 0, count, 0))


def resolve(order: dict[str, Any]) -> tuple[str, list[str]]:
    """The mode of a GPU, without asking torch for one; it reports no synchronizations."""
    order["untraced"] = True
    return "gpu", []


if __name__ == "__main__":
    modes.resolve = resolve
    DeviceSteps.__module__ = device_steps.__name__
    device_steps.DeviceSteps = DeviceSteps  # type: ignore[misc]
    sys.exit(__main__.main())
