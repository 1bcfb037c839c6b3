"""Factories of ``torch``: where a tensor is made, and of what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.catalogue.functions import OF_TORCH
from torchlint.catalogue.records import ARGUMENTS, Function
from torchlint.engine.arguments import OTHERS, Arguments
from torchlint.engine.origins import read_among
from torchlint.engine.values import INDICES, MASK, UNKNOWN, Device, Kind, Origin, Value, computed, leaves, tensor
from torchlint.knowledge import forms, tensors
from torchlint.libraries.devices import Devices, is_certain
from torchlint.libraries.tensors import Tensors, content_of, detail_of

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_CHOSEN = frozenset({"device", "generator", "pin_memory", "out", "requires_grad"})  # arguments that ask for the host
_NUMBERS = (Kind.NUMBER, Kind.CONSTANT)
_INTEGERS = "torch.long torch.int64 torch.int torch.int32 torch.short torch.int16".split()
_DETAILS = {"torch.bool": MASK, **dict.fromkeys(_INTEGERS, INDICES)}
TYPES = tensors.CPU_TYPES | {"Tensor"}
# On the host, whatever the default device is.
_SHARING = tensors.CPU_TYPES | {name for name, function in OF_TORCH.items() if function.place == "host"}
_HOST_DATA = frozenset({Kind.LIST, Kind.TUPLE, Kind.ARRAY, Kind.NUMBER, Kind.CONSTANT})


class Factories:
    """Follows calls that make tensors."""

    def __init__(self, engine: Engine, devices: Devices, tensors: Tensors) -> None:
        self._engine, self._state = engine, engine.state
        self._devices, self._tensors = devices, tensors

    def made(self, record: Function, given: Arguments) -> Value:
        """``torch.zeros`` and the like, ``torch.tensor`` and the like."""
        device = self._device(given)
        if given.name in TYPES or record.made in ("data", "buffer"):
            return self._of_data(given, device)
        if record.made != "sparse":
            self._tensors.sizes(given.all, given)
        dtype = given.named.get("dtype", UNKNOWN).detail
        detail = _DETAILS.get(dtype, detail_of(record) if dtype is None else None)
        if record.rank == ARGUMENTS and any(map(_is_zero, given.values)):
            return tensor(device or Device.UNKNOWN)  # without elements, so that nothing is copied
        device = device or self._default
        kind = "drawn" if record.draws else "fixed" if all(map(_never_changes, given.all)) else "made"
        host = device is Device.HOST and _CHOSEN.isdisjoint(given.named) and OTHERS not in given.named
        origin = self._state.origin(kind, given.node) if host else None
        return tensor(device, detail=detail, origin=origin, rank=_rank(record, given.values))

    @property
    def _default(self) -> Device:
        """Where tensors are made without ``device``: unknown if the project sets the default device."""
        unknown = self._engine.program.sets_default_device
        return self._state.default_device or (Device.UNKNOWN if unknown else Device.HOST)

    def _device(self, given: Arguments) -> Device | None:
        if "device" not in given.named:
            return None
        wanted = given.named["device"]
        found = None if wanted.is_none else self._devices.of(wanted) or Device.HOST
        if (found is Device.ACCELERATOR or wanted.kind is Kind.UNKNOWN) and is_certain(given):
            self._state.load("device", given.node)
        return Device.ACCELERATOR if found is Device.UNKNOWN else found

    def _of_data(self, given: Arguments, device: Device | None) -> Value:
        state, data = self._state, given.get(0, "data")
        if data.kind is Kind.TENSOR and ("dtype" in given.named or given.name == "tensor"):
            data = tensor(data.device or Device.UNKNOWN, sure=data.sure, origin=computed(data.origin))
        if data.kind is Kind.TENSOR:
            return self._devices.moved(data, device, given) if device else data
        inner = [leaf for leaf in leaves(data) if leaf.kind is Kind.TENSOR]
        read = any(state.is_on_device(leaf) and leaf.device is Device.ACCELERATOR for leaf in inner)
        if read:
            state.happen(given.node, given.scope, forms.OF_TENSORS, name=given.name)
        origin = self.data_origin(given, data, read=read)
        host = data.kind in _HOST_DATA or data.kind is Kind.UNKNOWN
        if device is Device.ACCELERATOR and (host or inner) and given.all:
            state.happen(given.node, given.scope, forms.HOST_DATA, origin, name=given.name)
            origin = state.origin("uploaded", given.node)
        device = device or (Device.HOST if given.name in _SHARING else self._default)
        kept = origin if device in (Device.HOST, Device.ACCELERATOR) else None
        flags = [leaf for leaf in leaves(data) if leaf.kind is Kind.FLAG or isinstance(leaf.detail, bool)]
        mask = MASK if flags and flags == list(leaves(data)) and "dtype" not in given.named else None
        rank = 0 if data.kind in _NUMBERS and given.name not in TYPES else None
        found = tensor(device, detail=mask, origin=kept, rank=rank)
        if "requires_grad" in given.named:
            state.alter(found, lasting=True)
        return found

    def data_origin(self, given: Arguments, data: Value, *, read: bool = False) -> Origin:
        """Where the data of a tensor come from; for types of tensors, numbers are sizes."""
        sized = given.name in TYPES and data.kind in _NUMBERS
        kind = "read" if read else "batch" if data.is_batch else "made" if sized else content_of(data, given.node)
        return data.origin or read_among([data]) or self._state.origin(kind, given.node)


def _is_zero(size: Value) -> bool:
    """Whether a size, or one of several, is zero."""
    return any(leaf.kind is Kind.CONSTANT and leaf.detail == 0 and leaf.sure for leaf in leaves(size))


def _never_changes(value: Value) -> bool:
    """Whether an argument of a factory is the same each time."""
    return all(leaf.kind in (Kind.CONSTANT, Kind.LIBRARY) and leaf.option is None for leaf in leaves(value))


def _rank(record: Function, sizes: Sequence[Value]) -> int | None:
    """The number of dimensions of what a factory makes of sizes."""
    if record.rank != ARGUMENTS:
        return record.rank
    if len(sizes) == 1 and sizes[0].kind is Kind.TUPLE:
        return len(sizes[0].items)
    known = all(size.kind in (*_NUMBERS, Kind.TENSOR) for size in sizes)
    return len(sizes) if known else None
