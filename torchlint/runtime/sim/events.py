"""Operations for which the host waits, or that copy between host and device below Python. Sources: ATen's CUDA code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.catalogue.views import WAITS
from torchlint.runtime.labels import device_of
from torchlint.runtime.sim import ctc, indexed
from torchlint.runtime.sim.copying import download, from_host, upload
from torchlint.runtime.sim.operands import INDEXED

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

# Operations whose result the host needs, so that it waits for the device.
_WAITS = {
    **{f"aten::{name}": wait.why for wait in WAITS for name in wait.operations},
    "aten::_nested_tensor_from_mask": "nested",
    "aten::_nested_tensor_from_mask_left_aligned": "nested",
}
COPIES = frozenset("aten::copy_ aten::_foreach_copy_ aten::fill_".split())
ACROSS = COPIES | INDEXED
_COUNTED = frozenset(
    "aten::repeat_interleave aten::normal aten::normal_ aten::histc aten::bincount aten::_linalg_svd".split()
)
_WHERE = "aten::where"
SPECIAL = frozenset(_WAITS) | COPIES | _COUNTED | {_WHERE, ctc.BACKWARD}


def record(simulation: Machine, func: Any, name: str, args: Any, kwargs: Any) -> None:
    """Record what an operation with operands on a device does beside computing."""
    if not simulation.recorder.listening:
        return
    why = _WAITS.get(name)
    if why is not None:
        simulation.sync(why)
    elif name in INDEXED:
        indexed.record(simulation, name, args, kwargs)
    elif name in COPIES:
        _copies(simulation, name, args)
    elif name == _WHERE:
        _where(simulation, args)
    elif name == ctc.BACKWARD:
        ctc.derive(simulation, args)
    elif name in _COUNTED:
        for why in _counted(func, name, args, kwargs):
            simulation.sync(why)


def _counted(func: Any, name: str, args: Any, kwargs: Any) -> list[str]:
    """Waits that depend on the arguments."""
    if name == "aten::repeat_interleave":
        sized = kwargs.get("output_size") is not None
        return [] if func._overloadname != "Tensor" or sized else ["repeat_interleave", "repeat_interleave"]
    if name == "aten::normal":  # a tensor of deviations is checked for negative ones
        return ["normal", "normal"] if func._overloadname in ("Tensor_Tensor", "float_Tensor") else []
    if name == "aten::histc":  # without limits, those of the data are read
        low, high = [*args, 0, 0, 0][2:4]
        return ["histc", "histc"] if kwargs.get("min", low) == kwargs.get("max", high) else []
    if name == "aten::bincount":  # the least and the greatest element are read, of bytes only the greatest
        return ["bincount"] * ((1 if args[0].dtype is torch.uint8 else 2) if args[0].numel() else 0)
    if name == "aten::_linalg_svd":  # errors are read, and whether the default driver of cuSOLVER converges
        return ["linalg", "linalg"]
    return []


def _copies(simulation: Machine, name: str, args: Any) -> None:
    """Copies that Python code cannot see: ``x[i] = y``, ``torch._foreach_copy_``, ``host.fill_(number)``.

    A number fills what it is written to, unless that is one element, without dimensions, to which it is copied
    (``copy_to`` in ATen's ``TensorIndexing.h``).
    """
    pairs = zip(args[0], args[1], strict=False) if name == "aten::_foreach_copy_" else [args[:2]]
    for target, source in pairs:
        if not isinstance(source, torch.Tensor):
            continue
        here, there = device_of(target), device_of(source)
        if here is not None and there is None and name != "aten::fill_" and (from_host(source) or not source.dim()):
            upload(simulation, source, "copy_", target.dtype)
        elif here is None and there is not None and name == "aten::fill_":
            simulation.sync("read")
        elif here is None and there is not None and from_host(target):
            download(simulation, source, "copy_")


def _where(simulation: Machine, args: Any) -> None:
    """Operands of the host without dimensions are copied to the device (``where_self_out`` in ATen)."""
    for operand in args:
        # What is not the program's, torch has made of a number, for the device.
        if isinstance(operand, torch.Tensor) and not operand.dim() and from_host(operand):
            upload(simulation, operand, "where")
