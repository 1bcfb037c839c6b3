"""The states of autocast while the CPU computes for two devices: what is set for the host, and for CUDA.

Torch keeps both, but only the CPU's has an effect here. So as long as a region is open, what the program sets for the
CPU is kept in this module, and torch's own state for the CPU is that of the tensors at hand.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DEVICES = ("cuda", "cpu")
State = tuple[bool, Any]
OFF: State = (False, torch.bfloat16)
enabled, dtype_of = torch.is_autocast_enabled, torch.get_autocast_dtype
_set_enabled, _set_dtype = torch.set_autocast_enabled, torch.set_autocast_dtype


def _state(device: str) -> State:
    return enabled(device), dtype_of(device)


def _become(state: State) -> None:
    _set_enabled("cpu", state[0])
    _set_dtype("cpu", state[1])


@contextmanager
def running(state: State) -> Iterator[None]:
    """The CPU computes in this state."""
    before = _state("cpu")
    _become(state)
    try:
        yield
    finally:
        _become(before)


class States(threading.local):
    """The states of a thread: how many regions are open, and what is set for the host meanwhile."""

    def __init__(self) -> None:
        self._open = 0
        self._host = OFF
        self._mode: TorchFunctionMode | None = None

    def open(self, mode: TorchFunctionMode) -> None:
        """A region begins; the mode is active until no region is open."""
        if not self._open:
            self._host = _state("cpu")
            self._mode = mode
            mode.__enter__()
        self._open += 1

    def close(self) -> None:
        """A region has ended."""
        self._open -= 1
        if not self._open and self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None
            _become(self._host)

    def of(self, *, on_device: bool) -> AbstractContextManager[None]:
        """A context in which the CPU computes for the device, or for the host."""
        wanted = _state("cuda") if on_device else self._host
        now = _state("cpu")
        return nullcontext() if wanted == now or not (wanted[0] or now[0]) else running(wanted)

    def _settle(self) -> None:
        """Where no function mode is asked, as in scripted modules, the CPU computes for the device."""
        if self._open:
            _become(_state("cuda") if enabled("cuda") else self._host)

    # -- what programs call ------------------------------------------------------------------------

    def functions(self) -> dict[str, Any]:
        """Functions of torch that read and set states, by name."""
        return {
            "is_autocast_enabled": self.is_enabled,
            "get_autocast_dtype": self.get_dtype,
            "set_autocast_enabled": self.set_enabled,
            "set_autocast_dtype": self.set_dtype,
            "is_autocast_cpu_enabled": lambda: self.is_enabled("cpu"),
            "get_autocast_cpu_dtype": lambda: self.get_dtype("cpu"),
            "set_autocast_cpu_enabled": lambda enabled: self.set_enabled("cpu", enabled),
            "set_autocast_cpu_dtype": lambda dtype: self.set_dtype("cpu", dtype),
            "set_autocast_gpu_dtype": lambda dtype: self.set_dtype("cuda", dtype),
        }

    def is_enabled(self, device_type: str = "cuda") -> bool:
        """``torch.is_autocast_enabled``."""
        return self._host[0] if device_type == "cpu" and self._open else bool(enabled(device_type))

    def get_dtype(self, device_type: str) -> Any:
        """``torch.get_autocast_dtype``."""
        return self._host[1] if device_type == "cpu" and self._open else dtype_of(device_type)

    def set_enabled(self, *args: Any, **kwargs: Any) -> None:
        """``torch.set_autocast_enabled``: for a device that is named, or else for CUDA."""
        names = ("device_type", "enabled") if len(args) + len(kwargs) > 1 else ("enabled",)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        device, value = given.get("device_type", "cuda"), given["enabled"]
        if device == "cpu" and self._open:
            self._host = (bool(value), self._host[1])
        else:
            _set_enabled(device, value)
        self._settle()

    def set_dtype(self, device_type: str, dtype: Any) -> None:
        """``torch.set_autocast_dtype``."""
        if device_type == "cpu" and self._open:
            self._host = (self._host[0], dtype)
        else:
            _set_dtype(device_type, dtype)
        self._settle()
