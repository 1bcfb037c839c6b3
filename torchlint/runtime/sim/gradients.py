"""Gradients: on the device of their tensors, and computed without the dispatch mode where nothing watches them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import LABEL, device_of, label_of, place
from torchlint.runtime.sim import indexed

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_BASE = torch._C.TensorBase
_get, _set, _delete = (getattr(_BASE.grad, name) for name in ("__get__", "__set__", "__delete__"))
_untyped_storage = _BASE.untyped_storage


def install(simulation: Machine) -> None:
    """Refuse gradients of another device, as CUDA does, and shorten backward passes."""
    simulation.patches.set(torch.Tensor, "grad", property(_gradient, _assign, _delete))
    real = torch.autograd._make_grads

    def make_grads(outputs: Sequence[Any], grads: Sequence[Any], is_grads_batched: bool) -> Any:
        for number, (output, gradient) in enumerate(zip(outputs, grads, strict=False)):
            if isinstance(output, torch.Tensor) and isinstance(gradient, torch.Tensor):
                _check(number, output, gradient)
        return real(outputs, grads, is_grads_batched)

    simulation.patches.set(torch.autograd, "_make_grads", make_grads)
    _shortened(simulation)


def _gradient(tensor: Any) -> Any:
    found = _get(tensor)
    if found is not None:
        try:
            label = getattr(_untyped_storage(found), LABEL, None)
        except (RuntimeError, NotImplementedError):  # sparse
            label = label_of(found)
        if label is None:
            place(found, device_of(tensor))
    return found


def _assign(tensor: Any, gradient: Any) -> None:
    if isinstance(gradient, torch.Tensor) and _elsewhere(tensor, gradient):
        raise RuntimeError("assigned grad has data located on a different device")
    _set(tensor, gradient)


def _elsewhere(tensor: Any, gradient: Any) -> bool:
    """Whether a gradient is on another device; memory that an operation has allocated for itself is on any."""
    label = label_of(gradient)
    return label is not None and (label.host or label.device is not None) and label.device != device_of(tensor)


def _check(number: int, output: Any, gradient: Any) -> None:
    if _elsewhere(output, gradient) and gradient.dim() > 0:
        node = type(_node(output)).__name__
        raise RuntimeError(
            f"Function {node} returned an invalid gradient at index {number} - expected device {output.device} but got "
            f"{gradient.device}"
        )


# -- backward passes ----------------------------------------------------------------------------------

_node = _BASE.grad_fn.__get__


def _shortened(simulation: Machine) -> None:
    """Run backward passes without the dispatch mode, which takes most of their time, unless they may cause events.

    Gradients get their labels when they are asked for. As soon as Python code may run in a backward pass (hooks,
    functions of the program), the mode stays active. The derivative of an index by a mask counts it again, and
    that of an index on the host copies it again.
    """
    real = getattr(torch.autograd, "_engine_run_backward", None)
    if real is None:
        return

    def run(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if simulation.watchful or not simulation.alone() or torch.is_anomaly_enabled() or _distributed():
            return real(t_outputs, *args, **kwargs)
        indexed.derive(simulation)
        with torch._C._DisableTorchDispatch():
            made = real(t_outputs, *args, **kwargs)
        for gradient, wanted in zip(made or (), args[3] if len(args) > _INPUTS else (), strict=False):
            if gradient is not None and isinstance(wanted, torch.Tensor):
                place(gradient, device_of(wanted))
        return made

    simulation.patches.set(torch.autograd, "_engine_run_backward", run)
    _watched(simulation)


_INPUTS = 3


def _distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _of_torch(module: str) -> bool:
    """Whether a module of torch asks, which sets no hooks; those of ``torch.autograd`` do."""
    return module.startswith("torch.") and not module.startswith("torch.autograd")


def _watched(simulation: Machine) -> None:
    """Notice what makes Python code run in a backward pass."""

    def noticed(real: Any) -> Any:
        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            simulation.watchful = True
            return real(*args, **kwargs)

        return call

    def node(tensor: Any) -> Any:
        found = _node(tensor)
        if found is not None and not _of_torch(sys._getframe(1).f_globals.get("__name__", "")):
            simulation.watchful = True  # it may be given a hook
        return found

    patches = simulation.patches
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        patches.set(torch.Tensor, name, noticed(getattr(torch.Tensor, name)))
    patches.set(torch.Tensor, "grad_fn", property(node))
    hooks = torch.autograd.graph.saved_tensors_hooks
    patches.set(hooks, "__enter__", noticed(hooks.__enter__))
    apply = vars(torch.autograd.Function)["apply"]  # a class method; since torch 2.14 one in C

    def applied(cls: Any, *args: Any, **kwargs: Any) -> Any:
        simulation.watchful = True
        return apply.__get__(None, cls)(*args, **kwargs)

    patches.set(torch.autograd.Function, "apply", classmethod(applied))
