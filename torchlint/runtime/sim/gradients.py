"""Gradients: on the device of their tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, label_of

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_get, _set, _delete = (getattr(torch._C.TensorBase.grad, name) for name in ("__get__", "__set__", "__delete__"))


def install(simulation: Machine) -> None:
    """Refuse gradients of another device, as CUDA does."""

    def assign(tensor: Any, gradient: Any) -> None:
        if isinstance(gradient, torch.Tensor) and _elsewhere(tensor, gradient):
            raise RuntimeError("assigned grad has data located on a different device")
        _set(tensor, gradient)

    simulation.patches.set(torch.Tensor, "grad", property(_get, assign, _delete))
    real = torch.autograd._make_grads

    def make_grads(outputs: Sequence[Any], grads: Sequence[Any], is_grads_batched: bool) -> Any:
        for number, (output, gradient) in enumerate(zip(outputs, grads, strict=False)):
            if isinstance(output, torch.Tensor) and isinstance(gradient, torch.Tensor):
                _check(number, output, gradient)
        return real(outputs, grads, is_grads_batched)

    simulation.patches.set(torch.autograd, "_make_grads", make_grads)


def _elsewhere(tensor: Any, gradient: Any) -> bool:
    """Whether a gradient is on another device; memory that an operation has allocated for itself is on any."""
    label = label_of(gradient)
    return label is not None and (label.host or label.device is not None) and label.device != device_of(tensor)


def _check(number: int, output: Any, gradient: Any) -> None:
    if _elsewhere(output, gradient) and gradient.dim() > 0:
        node = type(output.grad_fn).__name__
        raise RuntimeError(
            f"Function {node} returned an invalid gradient at index {number} - expected device {output.device} but got "
            f"{gradient.device}"
        )
