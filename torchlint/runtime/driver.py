"""What the NVIDIA driver says of the GPUs of this machine, without CUDA: nothing is initialized on them."""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple

_LIBRARY = "libnvidia-ml.so.1"
_LENGTH = 96
_SHARED = 0  # NVML_COMPUTEMODE_DEFAULT: several processes may use the GPU at the same time


class Gpus(NamedTuple):
    """The GPUs of a machine; ``exclusive`` says whether one of them accepts only one process at a time."""

    driver: str
    names: tuple[str, ...]
    exclusive: bool

    @property
    def key(self) -> str:
        """What a result depends on that was obtained on these GPUs."""
        return "/".join((self.driver, *self.names, os.environ.get("CUDA_VISIBLE_DEVICES", "all")))


class _Failed(Exception):
    """NVML has returned an error."""


def gpus() -> Gpus | None:
    """The GPUs; None if the driver cannot be asked."""
    try:
        nvml = ctypes.CDLL(_LIBRARY)
        _checked(nvml.nvmlInit_v2())
    except (OSError, AttributeError, _Failed):
        return None
    try:
        return _gpus(nvml)
    except (AttributeError, _Failed):
        return None
    finally:
        nvml.nvmlShutdown()


def _gpus(nvml: Any) -> Gpus:
    count = ctypes.c_uint()
    _checked(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)))
    names, exclusive = [], False
    for index in range(count.value):
        device, mode = ctypes.c_void_p(), ctypes.c_uint()
        _checked(nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device)))
        names.append(_text(nvml.nvmlDeviceGetName, device))
        _checked(nvml.nvmlDeviceGetComputeMode(device, ctypes.byref(mode)))
        exclusive = exclusive or mode.value != _SHARED
    return Gpus(_text(nvml.nvmlSystemGetDriverVersion), tuple(names), exclusive)


def _text(function: Any, *arguments: Any) -> str:
    buffer = ctypes.create_string_buffer(_LENGTH)
    _checked(function(*arguments, buffer, ctypes.c_uint(_LENGTH)))
    return buffer.value.decode("utf-8", "replace")


def _checked(status: int) -> None:
    if status:
        raise _Failed
