"""Indexing: what it copies, and what it waits for. Sources: ATen's ``TensorAdvancedIndexing.cpp`` and its headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, label_of, place, size_of
from torchlint.runtime.modes import version
from torchlint.runtime.sim.copying import download, facts_of_upload, from_host, record_upload, upload
from torchlint.runtime.sim.operands import READING, WRITING, indices_of, is_mask

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_PINS_MASKS = version() >= (2, 9)


def record(simulation: Machine, name: str, args: Any, kwargs: Any) -> None:
    """Indices and numbers are copied to what they index; boolean masks on the device must be counted first.

    ``make_info`` and ``_index_put_impl_`` in ATen.
    """
    indices = [index for index in indices_of(name, args) if index is not None]
    if from_host(args[0]):
        for index in indices:
            if device_of(index) is not None:
                download(simulation, index, "index")
        return
    # The derivative of reading by index writes to memory that it has allocated itself.
    known = args[2] if label_of(args[0]) is None and name not in READING else args[0]
    inputs = (args[0], *args[2:3]) if torch.is_grad_enabled() else ()
    derivatives = sum(tensor.requires_grad for tensor in inputs)
    masks = _masks(simulation, indices, device_of(known), derivatives)
    if name in WRITING and device_of(known) is not None and device_of(args[2]) is None:
        if len(masks) == len(indices) and _fills(masks, args, kwargs):
            return
        if args[2].dim() == 0:
            upload(simulation, args[2], "copy_")
            if inputs and args[0].requires_grad and not _accumulates(args, kwargs):  # zeros in its place
                _again(simulation, indices[0], size_of(args[2]))
    if masks and derivatives:
        _again(simulation, masks[0], None)
    for _ in masks:
        simulation.sync("mask")


def _masks(simulation: Machine, indices: list[Any], device: int | None, derivatives: int) -> list[Any]:
    """The masks that are on the device; what is on the host is copied there."""
    masks = []
    for index in indices:
        if device is not None and device_of(index) is None:
            if from_host(index):
                _upload_index(simulation, index, "index")
                for _ in range(derivatives):  # each of them indexes as the program does, from the host
                    _again(simulation, index, None)
                continue
            upload(simulation, index, "index")  # Python made it of a list, for the device
            place(index, device)
        if is_mask(index):
            masks.append(index)
    return masks


def _fills(masks: list[Any], args: Any, kwargs: Any) -> bool:
    """Whether writing a value of the host by masks of the device is filling (``canDispatchToMaskedFill`` in ATen)."""
    return len(masks) == 1 and args[2].numel() == 1 and not _accumulates(args, kwargs)


def _accumulates(args: Any, kwargs: Any) -> bool:
    return bool(kwargs.get("accumulate", args[3] if len(args) > 3 else False))


def _upload_index(simulation: Machine, index: torch.Tensor, how: str) -> None:
    """Record what is copied of an index of the host.

    Masks become indices on the host (``expandTensors`` in ATen). Since torch 2.9 those of all dimensions are copied at
    once from pinned memory, and nothing waits for that.
    """
    if not is_mask(index):
        record_upload(simulation, size_of(index), facts_of_upload(index, how))
        return
    size, facts = 8 * int(index.count_nonzero()), facts_of_upload(index, how)
    if _PINS_MASKS:
        record_upload(simulation, size * index.dim(), {**facts, "pinned": True, "non_blocking": True})
        return
    for _ in range(index.dim()):
        record_upload(simulation, size, {**facts, "pinned": False})


def _again(simulation: Machine, index: torch.Tensor, number: int | None) -> None:
    """Remember that the derivative of indexing uses an index as well, which the graph of the result keeps alive.

    Or that it copies a number, of this many bytes, to where the index points.
    """
    simulation.indexed.setdefault(index, []).append(number)


def derive(simulation: Machine) -> None:
    """Record what the derivatives of indexing do in a backward pass: count masks, and copy indices, once more."""
    for index, uses in simulation.indexed.items():
        for number in uses:
            if number is not None:
                record_upload(simulation, number, {"how": "derivative", "pinned": False, "non_blocking": False})
            elif device_of(index) is not None:
                simulation.sync("mask")
            else:
                _upload_index(simulation, index, "derivative")
    simulation.indexed.clear()
