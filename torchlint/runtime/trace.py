"""Torch's account of synchronizations: on while a program is observed, and off afterwards.

``torch._C._activate_gpu_trace`` makes C++ call Python for every allocation, free, event and synchronization. That takes
time, waits for other threads, and happens while exceptions propagate, so it must not stay on; but torch has no function
to end it. :meth:`Trace.off` resets the variable that C++ looks at before each call.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import torch

# What C++ reports, and the words for it; other events cost time and are not used.
_WAITS = {"StreamSynchronization": "stream", "DeviceSynchronization": "synchronize", "EventSynchronization": "event"}
# A C function that accepts one or two arguments and returns None: as a callback it takes next to no time, and does not
# run signal handlers where their exceptions would be lost.
_NOTHING: Any = {}.get
_SWITCH = "_ZN3c104impl8GPUTrace9haveStateE"  # bool c10::impl::GPUTrace::haveState


class Trace:
    """Reports synchronizations while it is on.

    ``called(why)`` returns the callback for one kind of synchronization. Where the variable is not found, C++ continues
    to call, but only ``_NOTHING``.
    """

    def __init__(self) -> None:
        self._switch = _switch()
        self._added: list[tuple[Any, Any]] = []
        self._silenced: list[Any] = []
        self._ours = False

    def on(self, called: Callable[[str], Callable[..., None]]) -> None:
        """Report from now on. Raises ``ImportError`` or ``AttributeError`` if this torch cannot."""
        registries = _registries()
        waits = {name: registries[name] for name in _WAITS if name in registries}
        if not waits:
            raise AttributeError("torch.cuda._gpu_trace has no callbacks")
        activate = torch._C._activate_gpu_trace
        for name, registry in waits.items():
            vars(registry).pop("fire_callbacks", None)
            callback = called(_WAITS[name])
            registry.add_callback(callback)
            self._added.append((registry, callback))
        for name, registry in registries.items():
            if name not in waits and not registry.callback_list:
                registry.fire_callbacks = _NOTHING
                self._silenced.append(registry)
        self._ours = self._switch is None or not self._switch.value
        activate()  # only the first call has an effect
        if self._switch is not None:
            self._switch.value = True

    def off(self) -> None:
        """Report no more, unless torch did before."""
        if self._switch is not None and self._ours:
            self._switch.value = False
        for registry, callback in self._added:
            if callback in registry.callback_list:
                registry.callback_list.remove(callback)
        forever = [registry for registry, _ in self._added if not registry.callback_list]
        if self._switch is None:
            for registry in forever:
                registry.fire_callbacks = _NOTHING
        else:
            for registry in self._silenced:
                vars(registry).pop("fire_callbacks", None)
        self._added, self._silenced = [], []


def _registries() -> dict[str, Any]:
    """Torch's lists of callbacks, by what they are called for."""
    from torch.cuda import _gpu_trace

    suffix = "Callbacks"
    found = vars(_gpu_trace).items()
    return {name.removesuffix(suffix): value for name, value in found if hasattr(value, "callback_list")}


def _switch() -> Any:
    """The variable that says whether C++ calls Python; None if this build of torch does not export it."""
    path = os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so")
    try:
        return ctypes.c_bool.in_dll(ctypes.CDLL(path), _SWITCH)
    except (OSError, ValueError):
        return None
