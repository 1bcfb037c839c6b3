"""Operands of operations: on which devices they are, and the errors that CUDA raises if they are on several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import label_of
from torchlint.runtime.modes import version

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

CPU = torch.device("cpu")
_FILLED = "aten::index_fill_"  # since torch 2.15, `x[index] = number` arrives as this
INDEXED = frozenset(
    "aten::index aten::index_put aten::index_put_ aten::_index_put_impl_ aten::_unsafe_index".split()
    + ([_FILLED] if version() >= (2, 15) else [])
)
READING = frozenset(("aten::index", "aten::_unsafe_index"))
_HOSTS = INDEXED - READING
WRITING = _HOSTS - {_FILLED}
# Results that are on the host, by number.
RESULTS_ON_HOST = {"aten::_pack_padded_sequence": (1,), "aten::_pad_packed_sequence": (1,)}
# Operations that accept operands on several devices.
_ACROSS = frozenset(
    "aten::copy_ aten::_to_copy aten::_pack_padded_sequence aten::_pad_packed_sequence aten::set_ aten::_copy_from "
    "aten::_foreach_copy_ aten::embedding_renorm_ aten::_unsafe_index_put aten::resize_ aten::resize_as_ "
    "aten::lift_fresh aten::_ctc_loss aten::_ctc_loss_backward aten::_has_compatible_shallow_copy_type".split()
)
# Operations that do not accept a zero-dimensional host tensor among operands on a device.
_STRICT = frozenset("aten::cat aten::stack aten::embedding aten::index_select aten::gather aten::scatter".split())
_CONVOLUTIONS = frozenset("aten::convolution aten::_convolution aten::convolution_overrideable".split())
# A zero-dimensional operand on a device goes into host memory.
_READS_NUMBER = frozenset(("aten::fill_", "aten::fill"))
SPECIAL = _ACROSS | INDEXED | frozenset(RESULTS_ON_HOST) | _READS_NUMBER


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from tensors(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from tensors(member)


def mixed(one: str, other: str) -> RuntimeError:
    """The error of CUDA for operands on two devices."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!"
    )


def indices_of(name: str, args: Any) -> Sequence[Any]:
    """The indices of an indexing operation, None for dimensions without one."""
    return (args[2],) if name == _FILLED else args[1]


def is_mask(index: torch.Tensor) -> bool:
    """Whether an index is a boolean mask."""
    return index.dtype in (torch.bool, torch.uint8)


def found_in(simulation: Machine, name: str, args: Any, kwargs: Any) -> tuple[int | None, bool]:
    """The device of the operands, and whether some are on the host.

    Raises like CUDA if there are operands on two devices. Zero-dimensional host tensors go with every device.
    """
    if name in INDEXED:
        return _indexed(simulation, name, args)
    if name == "aten::_pack_padded_sequence" and (label := label_of(args[1])) and label.device is not None:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {args[1].dim()}D {args[1].device} Long tensor"
        )
    found: int | None = None
    host = solid = False
    across, strict = name in _ACROSS or name in _READS_NUMBER, name in _STRICT
    for tensor in tensors((args, kwargs)):
        label = label_of(tensor)
        if label is None:
            continue
        if label.device is None:
            host = host or label.host
            solid = solid or (label.host and (tensor.dim() > 0 or strict) and tensor.numel() > 0)
        elif found is None:
            found = label.device
        elif label.device != found and not across:
            raise mixed(f"cuda:{found}", f"cuda:{label.device}")
    if solid and found is not None and not across and simulation.recorder.listening:
        raise _refusal(name, args, found)
    if across and found is not None:
        return _of_target(name, args, found), host
    return found, host


def _refusal(name: str, args: Any, found: int) -> RuntimeError:
    if name in _CONVOLUTIONS:
        kinds = [tensor.type() for tensor in args[:2]]
        return RuntimeError(f"Input type ({kinds[0]}) and weight type ({kinds[1]}) should be the same")
    return mixed(f"cuda:{found}", "cpu")


def _of_target(name: str, args: Any, found: int) -> int | None:
    """Label the result of an operation across devices like the first operand; unlabeled memory gets a label."""
    if name in ("aten::_to_copy", "aten::set_", "aten::lift_fresh"):
        return found
    first = next(tensors(args), None)
    label = label_of(first) if first is not None else None
    return found if label is None or not label.host else label.device


def _indexed(simulation: Machine, name: str, args: Any) -> tuple[int | None, bool]:
    """Indices may be on the host or on the device of what they index; values that are no number, only there.

    What is written to may be on the host with indices of a device, which are copied to it.
    """
    label = label_of(args[0])
    device = label.device if label is not None else None
    host = label is not None and label.host
    for index in indices_of(name, args):
        other = label_of(index) if index is not None else None
        if other is None or other.device is None:
            continue
        if label is None:  # memory that an operation has allocated for itself
            device = other.device
        elif other.device != device and not (name in _HOSTS and device is None) and simulation.recorder.listening:
            where = "cpu" if device is None else f"cuda:{device}"
            raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({where})")
    if name != _FILLED and len(args) > 2 and isinstance(args[2], torch.Tensor):
        _check_values(simulation, args[2], device, known=label is not None)
    return device, host


def _check_values(simulation: Machine, values: torch.Tensor, device: int | None, *, known: bool) -> None:
    label = label_of(values)
    if label is None or not known or not simulation.recorder.listening:
        return
    if label.device != device and (label.device is not None or label.host) and (values.dim() or values.numel() > 1):
        names = ["cpu" if index is None else f"cuda:{index}" for index in (label.device, device)]
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but got values is on {names[0]}, different from other "
            f"tensors on {names[1]} (when checking argument in method wrapper_CUDA__index_put_impl_)"
        )


def check_generator(simulation: Machine, generator: Any, index: int | None, asked: Any) -> None:
    """A generator draws only for its own device."""
    if generator is None or (asked is not None and asked.type not in ("cpu", "cuda")):
        return
    there = "cuda" if generator._cdata in simulation.generators else generator.device.type
    here = "cpu" if index is None else "cuda"
    if there != here and there in ("cpu", "cuda") and simulation.recorder.listening:
        raise RuntimeError(f"Expected a '{here}' device type for generator but found '{there}'")
