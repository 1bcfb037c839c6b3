"""Operations for which the host waits, or that copy between host and device below Python. Sources: ATen's CUDA code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, is_pinned, is_rewritten, label_of, origins, place, size_of
from torchlint.runtime.sim.operands import INDEXED, READING, indices_of

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

# Operations whose result the host needs, so that it waits for the device.
_WAITS = {
    "aten::is_nonzero": "read",
    "aten::equal": "equal",
    "aten::nonzero": "nonzero",
    "aten::masked_select": "masked_select",
    "aten::_unique": "unique",
    "aten::_unique2": "unique",
    "aten::unique_dim": "unique",
    "aten::unique_consecutive": "unique",
    "aten::bincount": "bincount",
    "aten::_linalg_check_errors": "linalg",
    "aten::_linalg_svd": "linalg",
    "aten::linalg_eig": "linalg",
    "aten::_linalg_eigh": "linalg",
    "aten::_linalg_eigvals": "linalg",
    "aten::cholesky": "linalg",
    "aten::linalg_lstsq": "linalg",
    "aten::_to_sparse": "to_sparse",
    "aten::_coalesce": "coalesce",
    "aten::_nested_tensor_from_mask": "nested",
    "aten::_nested_tensor_from_mask_left_aligned": "nested",
}
COPIES = frozenset("aten::copy_ aten::_foreach_copy_ aten::fill_".split())
ACROSS = COPIES | INDEXED
_COUNTED = frozenset("aten::repeat_interleave aten::normal aten::normal_ aten::histc".split())
SPECIAL = frozenset(_WAITS) | COPIES | _COUNTED


def record(simulation: Machine, func: Any, name: str, args: Any, kwargs: Any) -> None:
    """Record what an operation with operands on a device does beside computing."""
    if not simulation.recorder.listening:
        return
    why = _WAITS.get(name)
    if why is not None:
        simulation.sync(why)
    elif name in INDEXED:
        _indices(simulation, name, args)
    elif name in COPIES:
        _copies(simulation, name, args)
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
    return []


def _indices(simulation: Machine, name: str, args: Any) -> None:
    """Indices are copied to what they index; boolean masks on the device must be counted first."""
    if _from_host(args[0]):
        for index in indices_of(name, args):
            if index is not None and device_of(index) is not None:
                _download(simulation, index, "index")
        return
    masks: list[torch.Tensor] = []
    # The derivative of reading by index writes to memory that it has allocated itself.
    known = args[2] if label_of(args[0]) is None and name not in READING else args[0]
    inputs = (args[0], *args[2:3]) if torch.is_grad_enabled() else ()
    derivatives = sum(tensor.requires_grad for tensor in inputs)
    for index in indices_of(name, args):
        if index is None:
            continue
        if device_of(known) is not None and device_of(index) is None:
            upload(simulation, index, "index")
            if not _from_host(index):  # Python made it of a list, for the device
                place(index, device_of(known))
            elif derivatives:  # each of them indexes as the program does, from the host
                _again(simulation, index, derivatives)
        elif index.dtype in (torch.bool, torch.uint8):
            masks.append(index)
    one = name not in READING and args[2].numel() == 1
    if masks and derivatives:
        _again(simulation, masks[0], 1)
    if masks and not one:  # x[mask] = number needs no count
        simulation.sync("mask")


def _again(simulation: Machine, index: torch.Tensor, times: int) -> None:
    """Remember that the derivative of indexing uses an index as well, which the graph of the result keeps alive."""
    simulation.indexed[index] = simulation.indexed.get(index, 0) + times


def derive(simulation: Machine) -> None:
    """Record what the derivatives of indexing do in a backward pass: count masks, and copy indices, once more."""
    for index, count in simulation.indexed.items():
        for _ in range(count):
            if device_of(index) is not None:
                simulation.sync("mask")
                continue
            facts: dict[str, Any] = {"how": "derivative", "pinned": is_pinned(index), "non_blocking": False}
            simulation.recorder.add("upload", simulation.sites.here(3), size_of(index), **facts)
            simulation.blocks()
    simulation.indexed.clear()


def _copies(simulation: Machine, name: str, args: Any) -> None:
    """Copies that Python code cannot see: ``x[i] = y``, ``torch._foreach_copy_``, ``host.fill_(number)``."""
    pairs = zip(args[0], args[1], strict=False) if name == "aten::_foreach_copy_" else [args[:2]]
    for target, source in pairs:
        if not isinstance(source, torch.Tensor):
            continue
        here, there = device_of(target), device_of(source)
        if here is not None and there is None and source.dim() > 0 and _from_host(source):
            upload(simulation, source, "copy_", target.dtype)
        elif here is None and there is not None and name == "aten::fill_":
            simulation.sync("read")
        elif here is None and there is not None and _from_host(target):
            _download(simulation, source, "copy_")


def _download(simulation: Machine, source: torch.Tensor, how: str) -> None:
    facts: dict[str, Any] = {"how": how, "non_blocking": False}
    simulation.recorder.add("download", simulation.sites.here(2), size_of(source), **facts)
    simulation.blocks()


def _from_host(tensor: torch.Tensor) -> bool:
    """Whether it is the program's, and not memory that an operation has allocated for itself."""
    label = label_of(tensor)
    return label is not None and label.host


def facts_of_upload(
    source: torch.Tensor, how: str, dtype: torch.dtype | None = None, *, non_blocking: bool = False
) -> dict[str, Any]:
    """The facts of a copy of a tensor to the device, as a dtype."""
    pinned = is_pinned(source) and not is_rewritten(source, dtype)
    return {"how": how, "pinned": pinned, "non_blocking": bool(non_blocking), **origins(source)}


def upload(simulation: Machine, source: torch.Tensor, how: str, dtype: torch.dtype | None = None) -> None:
    """Record a copy to the device that an operation makes by itself."""
    facts = facts_of_upload(source, how, dtype)
    simulation.recorder.add("upload", simulation.sites.here(2), size_of(source, dtype), **facts)
    simulation.blocks()
