"""Where content comes from, through computations and parts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchlint.catalogue.records import Function
from torchlint.engine.frames import Scope
from torchlint.engine.values import UNKNOWN, Device, Kind, Origin, Value, computed, leaves, sequence
from torchlint.project.followed import OWN

_OF_STEPS = frozenset({"batch", "computed", "uploaded"})  # which differ anyway
_FIXED = frozenset({Kind.CONSTANT, Kind.LIBRARY, Kind.DEVICE})
_WRITTEN = frozenset({Kind.TENSOR, Kind.ARRAY})
_DATA = _WRITTEN | {Kind.UNKNOWN}
_ON_DEVICE = ("same", "own")  # kernels


def read_among(values: Iterable[Value | None]) -> Origin | None:
    """The origin of what was read from the device, among values of the host."""
    parts = (part for value in values if value is not None for part in ((value,) if value.origin else leaves(value)))
    return next((part.origin for part in parts if part.origin is not None and part.origin.kind == "read"), None)


def of_operands(values: Sequence[Value]) -> Origin | None:
    """The origin of what the host computes from several values.

    What was read from the device comes first, and the program's own counts only if all of the data are.
    """
    data = _data(values)
    origins = [leaf.origin for leaf in data if leaf.origin is not None]
    others = [origin for origin in origins if origin.kind not in OWN]
    found = next(iter(others or origins), None)
    found = chosen(found, (value for value in values if value.origin is not found))
    return chosen(read_among(values), values[1:]) or (computed(found) if others or len(origins) == len(data) else None)


def chosen(origin: Origin | None, by: Iterable[Value]) -> Origin | None:
    """The origin of what arguments choose or change: it may be something else each time, unless they are constants."""
    if origin is None or origin.varies or origin.kind in _OF_STEPS or all(map(_is_fixed, by)):
        return origin
    return origin._replace(varies=True)


def _is_fixed(value: Value) -> bool:
    return all(leaf.kind in _FIXED and leaf.sure and leaf.option is None for leaf in leaves(value))


def one_of(value: Value, depth: int = 2) -> Value:
    """One of several elements, which may be another one each time."""
    if value.kind is Kind.TUPLE and depth:
        items = [one_of(item, depth - 1) for item in value.items]
        return value if all(a is b for a, b in zip(items, value.items, strict=True)) else sequence(items)
    origin = chosen(value.origin, (UNKNOWN,))
    value = value if origin is value.origin else value.with_origin(origin)
    return value.within(value.memory._replace(varies=True)) if value.memory is not None else value


def of_call(values: Sequence[Value], function: Function, device: Device, *, seeded: bool = False) -> Origin | None:
    """The origin of what a function gives for tensors and arrays of the host.

    What only the host can compute, or draw from a ``seeded`` generator of its own, does not come from the device.
    """
    if device is not Device.HOST:
        return None
    if function.shares and function.keeps and not function.dtype and values and values[0].kind is Kind.TENSOR:
        return values[0].origin
    found = of_operands(values)
    return found if found is None or found.kind != "read" or (function.kernel in _ON_DEVICE and not seeded) else None


def overwrite(node: ast.expr, value: Value, scope: Scope) -> None:
    """A variable whose content is written to does not hold what was copied any more."""
    if isinstance(node, ast.Name) and value.kind in _WRITTEN and value.origin is not None:
        scope.set(node.id, value.overwritten())


def own_origins(value: Value) -> Iterator[Origin]:
    """Where the content was made that the program itself has made on the host, among the parts of a value."""
    for leaf in leaves(value):
        if leaf.device is not Device.ACCELERATOR and leaf.origin is not None and leaf.origin.kind in OWN:
            yield leaf.origin


def is_own(values: Iterable[Value]) -> bool:
    """Whether values are made by the program itself, or numbers."""
    return all(leaf.origin is not None and leaf.origin.kind in OWN for leaf in _data(values))


def _data(values: Iterable[Value]) -> list[Value]:
    """The data among the parts of values; what the elements of a container are that is not known."""
    unknown = Value(Kind.UNKNOWN)
    parts = (
        part
        for value in values
        for part in ((unknown,) if value.kind in _LISTS and value.element is None else leaves(value))
    )
    return [part for part in parts if part.kind in _DATA]


_LISTS = (Kind.LIST, Kind.GENERATOR)
