"""Where content comes from: what was read from the device, or copied there, through computations and parts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.catalogue.records import Function
from torchlint.engine.frames import Scope
from torchlint.engine.values import Device, Kind, Origin, Value, computed, leaves

_DATA = frozenset({Kind.TENSOR, Kind.ARRAY})
_ON_DEVICE = ("same", "own")  # kernels


def read_among(values: Iterable[Value | None]) -> Origin | None:
    """The origin of what was read from the device, among values of the host."""
    return next((origin for origin in _origins(values) if origin.kind == "read"), None)


def of_operands(values: list[Value]) -> Origin | None:
    """The origin of what the host computes from several values; what was read from the device comes first."""
    return computed(read_among(values) or next(_origins(values), None))


def of_call(values: list[Value], function: Function, device: Device, *, seeded: bool = False) -> Origin | None:
    """The origin of what a function gives for tensors and arrays of the host.

    What only the host can compute, or draw from a ``seeded`` generator of its own, does not come from the device.
    """
    if device is not Device.HOST:
        return None
    found = of_operands(values)
    return found if found is None or found.kind != "read" or (function.kernel in _ON_DEVICE and not seeded) else None


def overwrite(node: ast.expr, value: Value, scope: Scope) -> None:
    """A variable whose content is written to does not hold what was copied any more."""
    if isinstance(node, ast.Name) and value.kind in _DATA and value.origin is not None:
        scope.set(node.id, value.overwritten())


def _origins(values: Iterable[Value | None]) -> Iterator[Origin]:
    for value in values:
        if value is not None and value.origin is not None:
            yield value.origin
        elif value is not None:
            yield from (leaf.origin for leaf in leaves(value) if leaf.origin is not None)
