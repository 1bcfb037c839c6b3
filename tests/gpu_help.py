"""Helpers for tests of observation on a GPU, without one."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import torch

HERE = str(Path(__file__).parent)
SAYS = "called a synchronizing CUDA operation"
PROTOTYPE = "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"
_TRIGGERED = " (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.h:112.)"


def order(tmp_path: Path, **more: Any) -> dict[str, Any]:
    """An order for observing code of the tests."""
    return {"torchlint": "test", "run": "test", "directory": str(tmp_path), "roots": [HERE], **more}


def warned(text: str) -> Any:
    """A call that warns like C++: in the frame that calls it, without one of its own."""
    function = ctypes.pythonapi.PyErr_WarnEx
    function.argtypes, function.restype = [ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t], ctypes.c_int
    return functools.partial(function, UserWarning, (text + _TRIGGERED).encode(), 1)


class DebugMode:
    """The functions of ``torch._C`` for synchronizations, which builds for the CPU lack, and what they tell of.

    ``wait`` is what happens in a call that waits for the device.
    """

    def __init__(self) -> None:
        self.mode = 0
        self.waited = 0
        self._once = [warned(PROTOTYPE)]
        self._warn = warned(SAYS)
        # Not in a file of the tests, where the program is.
        names: dict[str, Any] = {"debug": self}
        exec(compile(_DRIVER, "/driver.py", "exec"), names)
        self.wait, self.synchronize = names["wait"], names["synchronize"]

    def set(self, mode: int) -> None:
        """``_cuda_set_sync_debug_mode``."""
        if mode not in (0, 1, 2):
            raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
        while self._once:
            self._once.pop()()
        self.mode = mode

    def get(self) -> int:
        """``_cuda_get_sync_debug_mode``."""
        return self.mode

    def install(self, patch: Any) -> None:
        """Add the functions; ``patch`` is pytest's."""
        for name, function in (
            ("_cuda_set_sync_debug_mode", self.set),
            ("_cuda_get_sync_debug_mode", self.get),
            ("_cuda_synchronize", self.synchronize),
        ):
            patch.setattr(torch._C, name, function, raising=False)
        patch.setattr(torch.cuda, "_lazy_init", lambda: None)


_DRIVER = """
def wait():
    if debug.mode == 2:
        raise RuntimeError("called a synchronizing CUDA operation")
    debug.waited += 1
    if debug.mode == 1:
        debug._warn()

def synchronize():
    debug.waited += 1
"""
