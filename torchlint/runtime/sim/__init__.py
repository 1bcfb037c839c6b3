"""A simulated GPU: ordinary CPU tensors whose memory carries the label of a device.

Values, aliasing and autograd are real; what a program can see of devices in Python (``x.device``, errors of mixed
devices, ``torch.cuda``) is as on a machine with CUDA, and transfers and synchronisations are recorded. What needs a
GPU in earnest (Triton, CUDA graphs, kernels of extensions) is not simulated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from types import TracebackType
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext, _device_constructors

from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Sites

__all__ = ["Simulation"]

_ERROR: Any = getattr(torch, "AcceleratorError", RuntimeError)


class Simulation:
    """Makes ``devices`` simulated GPUs there while it is entered. Not reentrant; leaves nothing behind."""

    def __init__(self, recorder: Recorder, sites: Sites, devices: int = 1) -> None:
        self.recorder = recorder
        self.sites = sites
        self.devices = devices
        self.patches = Patches()
        self.current = 0
        self._mode: Any = None
        self.moves: Any = None
        self.on_leaving: Callable[[str], None] = lambda what: None

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

    def index(self, device: object) -> int | None:
        """The index of a simulated device that an argument names; None for any other device."""
        if device is None or isinstance(device, bool):
            return None
        if isinstance(device, int):
            return self._checked(device)
        if isinstance(device, str):
            device = torch.device(device)
        if isinstance(device, torch.device) and device.type == "cuda":
            return self._checked(device.index if device.index is not None else self.current)
        return None

    def _checked(self, index: int) -> int:
        if not 0 <= index < self.devices:
            raise _ERROR("CUDA error: invalid device ordinal")
        return index

    def direct(self) -> Any:
        """Call torch past the dispatch mode, where no other mode wants to see it."""
        return torch._C._DisableTorchDispatch() if torch._C._len_torch_dispatch_stack() == 1 else nullcontext()

    def default(self) -> torch.device | None:
        """The device of ``with torch.device(..)`` and ``torch.set_default_device(..)``."""
        if torch._C._len_torch_function_stack() == 0:
            return None
        for mode in reversed(_get_current_function_mode_stack()):
            if isinstance(mode, DeviceContext):
                return mode.device
        return None

    def sync(self, why: str, size: int = 0) -> None:
        """The host waits for the device here."""
        self.recorder.add("sync", self.sites.here(3), size, why=why)
