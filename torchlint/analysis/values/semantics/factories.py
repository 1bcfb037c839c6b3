"""Factories: functions and types that make tensors, with their device, dtype and number of dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, positional
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.analysis.values.semantics.devices import device_of
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.catalogue.functions import OF_TORCH
from torchlint.catalogue.records import ARGUMENTS
from torchlint.knowledge import tensors as known

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


def legacy(node: cst.Call, name: str) -> Value:
    """A call of a tensor type: ``torch.cuda.FloatTensor(..)``."""
    device = Device.CUDA if known.LEGACY[name] == "cuda" else Device.CPU
    return Value(Kind.TENSOR, device, dtype=known.LEGACY_DTYPES[name], sure=True, origin=node, source=name)


def factory(values: Values, node: cst.Call, name: str) -> Value:
    """A call of a function that makes a tensor: ``torch.zeros(..)``."""
    where = keyword(node, "device")
    device = Device.CPU if where is None else device_of(values, where)
    if where is None and (any(a.star == "**" for a in node.args) or values.code.sets_default_device):
        device = Device.UNKNOWN
    first = values.value(positional(node, 0))
    if where is None and first.kind is Kind.TENSOR:
        device = first.device
    dtype = keyword(node, "dtype")
    return Value(
        Kind.TENSOR,
        device,
        dtype=dtype_of(values, dtype) if dtype is not None else None,
        rank=_factory_rank(values, node, name.rpartition(".")[2]),
        fresh=name not in ("torch.as_tensor", "torch.asarray"),
        sure=True,
        origin=node,
        source=name,
    )


def _factory_rank(values: Values, node: cst.Call, last: str) -> int | None:
    """The number of dimensions, if the arguments show it."""
    rank = OF_TORCH[last].rank
    if rank == 1:
        return 1
    sizes = [arg.value for arg in node.args if arg.keyword is None]
    if last == "tensor" and sizes:
        data = values.value(sizes[0])
        listed = data.kind in (Kind.LIST, Kind.TUPLE) and bool(data.elements)
        return 1 if listed and all(e.kind is Kind.SCALAR for e in data.elements or ()) else None
    if last == "randint":  # the size is the last of two or three arguments
        size = keyword(node, "size") or (sizes[-1] if len(sizes) > 1 else None)
        return len(size.elements) if isinstance(size, (cst.Tuple, cst.List)) else None
    if rank != ARGUMENTS or any(arg.star for arg in node.args):
        return None
    if len(sizes) == 1 and isinstance(sizes[0], (cst.Tuple, cst.List)):
        return len(sizes[0].elements)
    return len(sizes) if sizes and all(isinstance(literal(size), int) for size in sizes) else None
