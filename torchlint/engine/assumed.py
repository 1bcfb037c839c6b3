"""The arguments of functions that are only assumed to be called: joined, but for what tells tensors apart."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from torchlint.catalogue.views import ONLY
from torchlint.engine.containers import is_loader
from torchlint.engine.frames import Frame, Function
from torchlint.engine.union import join, key
from torchlint.engine.values import PLAIN, UNKNOWN, Device, Kind, Value, sequence
from torchlint.knowledge import following as known

_DATA = frozenset({Kind.TENSOR, Kind.ARRAY})
_OF_TENSORS = ONLY | {"shape", "size", "device", "dim"}


def takes_tensor(function: Function, name: str) -> bool:
    """Whether a parameter is used as a tensor."""
    if function.tensors is None:
        read = (
            part for part in ast.walk(function.node) if isinstance(part, ast.Attribute) and part.attr in _OF_TENSORS
        )
        function.tensors = frozenset(part.value.id for part in read if isinstance(part.value, ast.Name))
    return name in function.tensors


def as_taken(function: Function, names: dict[str, Value]) -> dict[str, Value]:
    """Arguments, of which what may be a tensor is one if a method that runs in steps takes it for one."""
    if function.class_ is None or function.name not in known.STEPPED:
        return names
    unsure = [name for name, value in names.items() if value.kind is Kind.TENSOR and not value.sure]
    return {**names, **{name: names[name].certain() for name in unsure if takes_tensor(function, name)}}


def kinds_of_data(function: Function, names: dict[str, Value]) -> tuple[Hashable, ...]:
    """Which arguments are arrays or tensors, surely, on the host or not; loaders; and what a wrapper passes on."""
    data = ((name, value) for name, value in names.items() if value.kind in _DATA)
    kinds: tuple[Hashable, ...] = tuple((n, v.kind, v.sure, v.device is Device.HOST) for n, v in data)
    kinds += tuple((name, key(value)) for name, value in names.items() if is_loader(value))
    args, named = function.node.args.vararg, function.node.args.kwarg
    return (*kinds, key(names[args.arg]), key(names[named.arg])) if args is not None and named is not None else kinds


def widen(frame: Frame, names: dict[str, Value]) -> None:
    """Join arguments with those that a function was called with before."""
    for name, value in names.items():
        held = frame.given.get(name)
        joined = value if held is None else _either(held, value)
        if held is None or (joined is not held and _known(joined) != _known(held)):
            frame.given[name], frame.widened = joined, True


def _known(value: Value) -> Hashable:
    return key(value), value.maybe_none


def _either(one: Value, other: Value) -> Value:
    """One argument or the other; what may also be None, or anything, decides no condition."""
    if one is other or _known(one) == _known(other):
        return one
    if one.kind is other.kind is Kind.TUPLE and len(one.items) == len(other.items):
        return sequence([_either(*each) for each in zip(one.items, other.items, strict=True)])
    joined = join(one, other)
    if any(value.kind is Kind.UNKNOWN or value.is_none for value in (one, other)):
        return UNKNOWN if joined.kind in PLAIN else joined.or_none()
    return joined
