"""A simulated GPU: ordinary CPU tensors whose memory carries the label of a device.

Values, aliasing and autograd are real; what a program can see of devices in Python (``x.device``, errors of mixed
devices, ``torch.cuda``) is as on a machine with CUDA, and transfers and synchronisations are recorded. What needs a
GPU in earnest (Triton, CUDA graphs, kernels of extensions) is not simulated.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from torch.utils._device import _device_constructors

from torchlint.runtime.sim.machine import Machine


class Simulation(Machine):
    """Makes ``devices`` simulated GPUs there while it is entered. Not reentrant; leaves nothing behind."""

    _mode: Any = None

    def __enter__(self) -> Simulation:
        from torchlint.runtime.sim import (
            batch_norm,
            devices,
            dispatch,
            environment,
            factories,
            sharing,
            subset,
            tensors,
        )

        _device_constructors()  # remembers the real ones before they are replaced
        try:
            for part in (tensors, factories, devices, environment, batch_norm, sharing, subset):
                part.install(self)
            self.patches.set(threading.Thread, "run", self._in_thread(threading.Thread.run, dispatch.Labels))
        except BaseException:
            self.patches.restore()
            raise
        self._mode = dispatch.Labels(self)
        self._mode.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mode.__exit__(kind, error, trace)
        self.patches.restore()

    def _in_thread(self, run: Any, mode: Any) -> Any:
        """Modes belong to threads: a new one needs its own."""

        def in_thread(thread: threading.Thread) -> None:
            with mode(self):
                run(thread)

        return in_thread
