"""Tensors of the simulated device in other processes, and in traces."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
import torch.jit._trace
from torch.multiprocessing import reductions
from torch.utils._python_dispatch import _disable_current_modes

from torchlint.runtime.labels import device_of, place, storage_of
from torchlint.runtime.sim.storages import unlabeled

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine


def install(simulation: Machine) -> None:
    """Keep the device of tensors that are sent to another process, and trace the original functions."""
    _pickled(simulation)
    _traced(simulation)


def _pickled(simulation: Machine) -> None:
    reduce = reductions.reduce_tensor

    def reduced(tensor: Any) -> Any:
        index = device_of(tensor)
        with unlabeled(storage_of(tensor)):
            function, arguments = reduce(tensor)
        return (function, arguments) if index is None else (rebuilt, (function, arguments, index))

    known: Any = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind in (torch.Tensor, torch.nn.Parameter):
        simulation.patches.set_item(known, kind, reduced)
    reduce_storage = reductions.reduce_storage

    def reduced_storage(storage: Any) -> Any:
        with unlabeled(storage):
            return reduce_storage(storage)

    simulation.patches.set_item(known, torch.UntypedStorage, reduced_storage)


def rebuilt(function: Callable[..., Any], arguments: Any, index: int) -> Any:
    """A tensor received from another process, on the device that it had there."""
    made = function(*arguments)
    place(made, index)
    return made


def _traced(simulation: Machine) -> None:
    """Tracing records operations, and a dispatch mode would hide which tensors they belong to."""
    for name in ("trace", "trace_module", "_get_trace_graph"):
        real = getattr(torch.jit._trace, name)
        traced = _without_modes(real)
        for owner in (torch.jit._trace, torch.jit):
            if getattr(owner, name, None) is real:
                simulation.patches.set(owner, name, traced)


def _without_modes(real: Any) -> Any:
    def traced(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return real(*args, **kwargs)

    return traced
