"""Where content comes from, through computations and parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchlint.engine.values import Device, Kind, Origin, Value, computed, leaves
from torchlint.project.followed import OWN

_DATA = frozenset({Kind.TENSOR, Kind.ARRAY, Kind.UNKNOWN})


def of_operands(values: Iterable[Value]) -> Origin | None:
    """The origin of what the host computes from several values; the program's own only if that is so of all data."""
    data = [leaf for value in values for leaf in _parts(value) if leaf.kind in _DATA]
    origins = [leaf.origin for leaf in data if leaf.origin is not None]
    others = [origin for origin in origins if origin.kind not in OWN]
    if others or len(origins) == len(data):
        return computed(next(iter(others or origins), None))
    return None


def read_among(value: Value) -> Origin | None:
    """The origin of a number that was read from the device, among the parts of a value."""
    numbers = (leaf.origin for leaf in leaves(value) if leaf.kind is Kind.NUMBER)
    return next((origin for origin in numbers if origin is not None), None)


def own_origins(value: Value) -> Iterator[Origin]:
    """Where the content was made that the program itself has made on the host, among the parts of a value."""
    for leaf in leaves(value):
        if leaf.device is not Device.ACCELERATOR and leaf.origin is not None and leaf.origin.kind in OWN:
            yield leaf.origin


def is_own(values: Iterable[Value]) -> bool:
    """Whether values are made by the program itself, or numbers."""
    origins = [leaf.origin for value in values for leaf in _parts(value) if leaf.kind in _DATA]
    return all(origin is not None and origin.kind in OWN for origin in origins)


def _parts(value: Value) -> Iterator[Value]:
    """The values in a container; what the elements of one are that is not known."""
    if value.kind in (Kind.LIST, Kind.GENERATOR) and value.element is None:
        return iter([Value(Kind.UNKNOWN)])
    return leaves(value)
