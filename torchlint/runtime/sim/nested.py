"""Nested tensors that are created on a device: C++ does that, without asking what else this folder replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, labeled

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine


def install(simulation: Machine) -> None:
    """Wrap what creates nested tensors with the strided layout; the jagged one consists of other tensors."""
    from_list = torch._nested_tensor_from_tensor_list
    simulation.patches.set(torch._C._nested, "nested_tensor", _leaf(simulation, torch._C._nested.nested_tensor))
    simulation.patches.set(torch, "_nested_tensor_from_tensor_list", _from_list(simulation, from_list))


def _leaf(simulation: Machine, real: Any) -> Any:
    def nested_tensor(
        data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
    ) -> Any:
        index = simulation.index(device)
        if pin_memory and (index is not None or any(device_of(part) is not None for part in _tensors(data))):
            raise RuntimeError("Only dense CPU tensors can be pinned")
        with simulation.recorder.quiet():
            made = real(data, dtype=dtype, device=None if index is not None else device)
        made = _moved(simulation, made, index if device is not None else device_of(made), "nested_tensor")
        labeled(made).pinned = pin_memory
        return made.requires_grad_(requires_grad)

    return nested_tensor


def _from_list(simulation: Machine, real: Any) -> Any:
    def _nested_tensor_from_tensor_list(
        parts: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
    ) -> Any:
        index = simulation.index(device)
        made = real(parts, dtype, layout, None if index is not None else device, pin_memory)
        return _moved(simulation, made, index if device is not None else device_of(made), "as_nested_tensor")

    return _nested_tensor_from_tensor_list


def _moved(simulation: Machine, made: Any, index: int | None, how: str) -> Any:
    """The tensor on a device, or known to be on the host."""
    if device_of(made) == index:
        labeled(made).host = index is None
        return made
    return simulation.moves.moved(made, index, how)


def _tensors(data: Any) -> list[torch.Tensor]:
    return [part for part in data if isinstance(part, torch.Tensor)]
