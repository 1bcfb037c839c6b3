"""A simulated GPU: CPU tensors whose memory is labeled with a device.

Values, aliasing and autograd are real. What Python code can observe about devices (``x.device``, errors about mixed
devices, ``torch.cuda``) is as on a machine with CUDA, and transfers and synchronizations are recorded. What really
needs a GPU (Triton, CUDA graphs, kernels of extensions) is not simulated.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from torchlint.runtime.sim.machine import Machine


class Simulation(Machine):
    """A context manager that installs ``devices`` simulated GPUs. Not reentrant; restores everything."""

    _mode: Any = None

    def __enter__(self) -> Simulation:
        from torchlint.runtime.sim import (
            amp,
            batch_norm,
            beside,
            devices,
            dispatch,
            distributed,
            environment,
            factories,
            gradients,
            legacy,
            nested,
            random,
            reads,
            sharing,
            storages,
            subset,
            tensors,
        )

        parts = (
            *(reads, tensors, legacy, storages, gradients, factories),
            *(devices, environment, amp, distributed, batch_norm, beside, nested, sharing, subset),
        )
        try:
            self.random = random.Random(self)
            self.random.install()
            for part in parts:
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
        """Modes are thread-local: a new thread needs its own."""

        def in_thread(thread: threading.Thread) -> None:
            with mode(self):
                run(thread)

        return in_thread
