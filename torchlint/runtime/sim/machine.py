"""The simulated machine: its devices, and the recorder of their events."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils.weak import WeakIdKeyDictionary

from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Sites

_ERROR_MODE = 2
_ERROR: Any = getattr(torch, "AcceleratorError", RuntimeError)


class Machine:
    """The simulated GPUs: number of devices, current device, patches and recorder."""

    def __init__(self, recorder: Recorder, sites: Sites, devices: int = 1) -> None:
        self.recorder = recorder
        self.sites = sites
        self.devices = devices
        self.patches = Patches()
        self.current = 0
        self.watchful = False  # something may happen in backward passes
        self.to_host = False  # parts of a tensor are copied to the host: what torch says of itself on the CPU as well
        # What the next backward pass does again with indices, unless the graphs that hold them are dropped before.
        self.indexed: MutableMapping[torch.Tensor, list[int | None]] = WeakIdKeyDictionary()
        self.reason: str | None = None  # see `because`
        self.debug = 0  # torch.cuda.set_sync_debug_mode
        self.moves: Any = None
        self.random: Any = None
        self.generators: set[int] = set()  # those of simulated devices, by address
        self.on_leaving: Callable[[str], None] = lambda what: None
        self.on_note: Callable[[str], None] = lambda what: None
        self.others: dict[str, Callable[[], None]] = {}  # what ends the simulation, by accelerators that it is not
        self._asked: set[Any] = set()

    def index(self, device: object) -> int | None:
        """The index of the simulated device that an argument names; None for any other device."""
        if device is None or isinstance(device, bool):
            return None
        if isinstance(device, int):
            return self._checked(device)
        if isinstance(device, str):
            device = torch.device(device)
        if isinstance(device, torch.device) and device.type == "cuda":
            return self._checked(device.index if device.index is not None else self.current)
        if isinstance(device, torch.device) and device.type in self.others:
            self.others[device.type]()
        return None

    def named_by(self, value: object) -> bool:
        """Whether an argument names a device that is simulated, or another accelerator."""
        if isinstance(value, torch.device):
            kind = value.type
        elif isinstance(value, str):
            kind = value.partition(":")[0]
        else:
            return isinstance(value, int) and not isinstance(value, bool)
        return kind == "cuda" or kind in self.others

    def _checked(self, index: int) -> int:
        if not 0 <= index < self.devices:
            raise _ERROR("CUDA error: invalid device ordinal")
        return index

    def say_once(self, notice: Callable[[], str | None]) -> None:
        """Tell the user what a function returns, if it returns anything; it is called only once."""
        if notice in self._asked:
            return
        self._asked.add(notice)
        with self.recorder.quiet():
            said = notice()
        if said is not None:
            self.on_note(said)

    def direct(self) -> Any:
        """Call torch without the dispatch mode, unless another mode is active."""
        return torch._C._DisableTorchDispatch() if self.alone() else nullcontext()

    def alone(self) -> bool:
        """Whether the simulation's dispatch mode is active, and no other."""
        if torch._C._len_torch_dispatch_stack() != 1:
            return False
        return getattr(torch._C._get_dispatch_stack_at(0), "simulates", False)

    def default(self) -> torch.device | None:
        """The device of ``with torch.device(..)`` and ``torch.set_default_device(..)``."""
        if torch._C._len_torch_function_stack() == 0:
            return None
        for mode in reversed(_get_current_function_mode_stack()):
            if isinstance(mode, DeviceContext):
                return mode.device
        return None

    def sync(self, why: str, size: int = 0) -> None:
        """Record that the host waits for the device here."""
        self.recorder.add("sync", self.sites.here(3), size, why=self.reason or why)
        if self.debug and "synchronize" not in why and self.recorder.listening:
            self.blocks()

    @contextmanager
    def because(self, reason: str) -> Iterator[None]:
        """All waits in this context have this reason."""
        before, self.reason = self.reason, reason
        try:
            yield
        finally:
            self.reason = before

    def blocks(self) -> None:
        """Warn or raise as ``torch.cuda.set_sync_debug_mode`` asks."""
        if self.debug == _ERROR_MODE:
            raise RuntimeError("called a synchronizing CUDA operation")
        if self.debug:
            warnings.warn("called a synchronizing CUDA operation", stacklevel=4)
