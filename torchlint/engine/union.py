"""Unions of values, and what distinguishes values as arguments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from torchlint.engine.values import (
    CALLABLE,
    FLAG,
    NUMBER,
    PLAIN,
    SEQUENCES,
    TEXT,
    UNKNOWN,
    Device,
    Kind,
    Origin,
    Value,
    collection,
    sequence,
    tensor,
)
from torchlint.project.followed import OWN

_MEMBERS, _CLASSES = 12, 32  # of a union: of objects, of classes and functions
_COPIED = ("read", "uploaded")  # origins
_KEYS = 8  # fields and items that distinguish containers
_NO_TENSORS = frozenset({Kind.NUMBER, Kind.TEXT, Kind.FLAG})  # constants are what totals begin with
_PREFERRED = {
    Kind.LOADER: 0,
    Kind.INSTANCE: 0,
    Kind.DICT: 1,
    Kind.TUPLE: 2,
    Kind.TENSOR: 3,
    Kind.LIST: 3,
    Kind.ARRAY: 4,
}


def join(one: Value | None, other: Value | None) -> Value:
    """What is one value or the other, as far as it matters for what is done with it."""
    if one is other or other is None:
        return one if one is not None else UNKNOWN
    if one is None:
        return other
    for this, that in ((one, other), (other, one)):
        found = _dominated(this, that)
        if found is not None:
            return found
    return _of_kinds(one, other)


def join_all(values: Iterable[Value]) -> Value:
    """What is one of several values."""
    found: Value | None = None
    for value in values:
        found = join(found, value)
    return found if found is not None else UNKNOWN


def _dominated(this: Value, that: Value) -> Value | None:
    """What the union is if the kind of ``this`` decides it alone."""
    if this.kind is Kind.UNKNOWN:
        if that.kind is Kind.TENSOR:
            return _besides(that, this)
        unsure = that.kind is Kind.DATASET or is_host(that)
        return this if (that.kind in PLAIN and this.detail is not None) or unsure else that
    if this.kind is Kind.METHOD:
        return this if is_host(that) else that
    if this.is_none:
        return that.or_none()
    if this.kind is Kind.TENSOR and that.kind is not Kind.TENSOR:
        keeps = that.kind in CALLABLE or that.kind in (Kind.DICT, Kind.TUPLE)
        if this.sure and (that.kind in _NO_TENSORS or isinstance(that.detail, bool)):
            return tensor(this.device or Device.UNKNOWN, sure=False, detail=this.detail, origin=this.origin)
        return None if keeps else _besides(this, that)
    return None


def is_host(value: Value) -> bool:
    """Whether this is the host as a device: what is unknown beside it probably is the accelerator."""
    return value.kind is Kind.DEVICE and value.device is Device.HOST


def _besides(one: Value, other: Value) -> Value:
    """A tensor, or something unknown, whose content the program may not have made itself."""
    own = one.origin is not None and one.origin.kind in OWN
    return one.with_origin(None) if own and other.kind is Kind.UNKNOWN else one


def _of_kinds(one: Value, other: Value) -> Value:
    kinds = {one.kind, other.kind}
    if kinds <= CALLABLE:
        return _united(one, other)
    if one.kind is other.kind:
        return _of_kind(one, other)
    if kinds == SEQUENCES:
        listed, fixed = (one, other) if one.kind is Kind.LIST else (other, one)
        if listed.element is None:
            return fixed
        return collection(join(listed.element, join_all(fixed.items)) if fixed.items else listed.element)
    if kinds <= PLAIN:
        kind = one.kind if one.kind is not Kind.CONSTANT else other.kind
        return Value(kind, rarely=one.rarely if one.rarely == other.rarely else 0)
    return one if _PREFERRED.get(one.kind, 9) <= _PREFERRED.get(other.kind, 9) else other


def _of_kind(one: Value, other: Value) -> Value:
    """The union of two values of one kind that are no objects."""
    kind = one.kind
    if kind is Kind.TENSOR:
        return _tensors(one, other)
    if kind is Kind.DEVICE:
        return one if one.device is Device.ACCELERATOR else other
    if kind is Kind.CONSTANT:
        return _constants(one, other)
    if kind is Kind.TUPLE:
        if len(one.items) == len(other.items):
            return sequence([join(a, b) for a, b in zip(one.items, other.items, strict=True)])
        return one if len(one.items) > len(other.items) else other
    if kind is Kind.DICT:
        fields = dict(one.fields)
        for name, value in other.fields.items():
            fields[name] = join(fields.get(name), value)
        element = join(one.element, other.element) if one.element or other.element else None
        return Value(kind, fields=fields, element=element)
    if kind is Kind.LIST:
        return collection(join(one.element, other.element) if one.element or other.element else None)
    if kind is Kind.ARRAY:
        return one.within(_memories(one.memory, other.memory))
    if kind in PLAIN:
        text = one.target if one.target == other.target else None
        return Value(kind, target=text, rarely=one.rarely if one.rarely == other.rarely else 0)
    return one


def _tensors(one: Value, other: Value) -> Value:
    devices = {one.device, other.device}
    known = devices - {Device.UNKNOWN}
    device = Device.ACCELERATOR if Device.ACCELERATOR in devices else next(iter(known), Device.UNKNOWN)
    found = tensor(
        device or Device.UNKNOWN,
        sure=one.sure and other.sure,
        detail=one.detail if one.detail == other.detail else None,
        origin=_origins(one.origin, other.origin),
        rank=one.rank if one.rank == other.rank else None,
    )
    found.maybe_none = one.maybe_none or other.maybe_none
    found.memory = _memories(one.memory, other.memory)
    return found.joined({**one.fields, **other.fields})


def _origins(one: Origin | None, other: Origin | None) -> Origin | None:
    """One of two origins, or both loaders; whether they pin a batch is known only if that is so of both.

    What may also come from elsewhere was not certainly copied to the host or the device, or made by the program itself.
    """
    groups = _group(one), _group(other)
    if groups[0] != groups[1]:
        return next((origin for origin in (one, other) if origin is not None and _group(origin) == ""), None)
    if one is None or other is None or one is other:
        return one or other
    if one.kind == other.kind == "batch":
        known = {origin.node for origin in one.every}
        more = tuple(origin._replace(others=()) for origin in other.every if origin.node not in known)
        one = one._replace(others=(*one.others, *more)[:_MEMBERS])
    if (one.kind, other.kind) == ("computed", "batch"):
        return other._replace(pins=None)
    return one if one.pins is other.pins else one._replace(pins=None)


def _group(origin: Origin | None) -> str:
    """What two origins must have in common if that is to hold of their union; empty if that is not so."""
    if origin is None:
        return ""
    return "own" if origin.kind in OWN else origin.kind if origin.kind in _COPIED else ""


def _memories(one: Origin | None, other: Origin | None) -> Origin | None:
    """What is known of memory that is one or the other."""
    if one is None or other is None or one is other:
        return one if one is other else None
    special = {"pinned", "arriving"} & {one.kind, other.kind}
    return one if not special or one.node is other.node else None


def _constants(one: Value, other: Value) -> Value:
    if one.detail == other.detail and type(one.detail) is type(other.detail):
        return one if one.option is not None else other
    for type_, kind in ((bool, FLAG), ((int, float), NUMBER), (str, TEXT)):
        if isinstance(one.detail, type_) and isinstance(other.detail, type_):
            return kind
    return UNKNOWN


def _united(one: Value, other: Value) -> Value:
    """A union of objects, classes and functions."""
    found = {identity(value): value for value in reversed([*one.members, *other.members])}
    if len(found) == 1:
        return other if other.moves_inputs else one
    if one.kind is Kind.UNION and len(found) == len(one.items):
        return one
    members = list(reversed(found.values()))
    few = members[0].kind in (Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.MODULES)
    none = one.maybe_none or other.maybe_none
    return Value(Kind.UNION, items=members[: _MEMBERS if few else _CLASSES], maybe_none=none)


def identity(value: Value) -> Hashable:
    """What makes two values the same member of a union."""
    if value.kind in (Kind.INSTANCE, Kind.CLASS, Kind.MODULE):
        return id(value.target)
    if value.kind is Kind.FUNCTION:
        receiver = value.receiver
        return id(value.target), id(
            receiver.target if receiver is not None and receiver.target is not None else receiver
        )
    return (value.kind, value.detail) if value.kind in (Kind.LIBRARY, Kind.LIBRARY_MODULE) else id(value)


def key(value: Value, depth: int = 2) -> Hashable:
    """What distinguishes values as arguments: the identity of objects, places of tensors, shapes of containers."""
    kind = value.kind
    if kind is Kind.INSTANCE or kind in (Kind.CLASS, Kind.MODULE):
        return id(value.target)
    if kind is Kind.FUNCTION:
        receiver = value.receiver
        return kind, id(value.target.node), id(receiver.target) if receiver is not None else 0
    if kind is Kind.METHOD:
        return kind, value.detail, key(value.receiver, 1) if value.receiver is not None else None
    if kind is Kind.CONSTANT:
        plain = isinstance(value.detail, (str, bool)) or value.detail is None
        return kind, value.detail if plain else "number", value.sure
    if kind is Kind.TENSOR:
        tagged = value.rank, bool(value.fields)
        return kind, value.detail, value.device, value.sure, tagged, _key_of_origin(value.origin)
    if kind in PLAIN:
        return kind, value.rarely, value.device, value.target
    if kind in (Kind.LIBRARY, Kind.PACKAGE, Kind.LIBRARY_MODULE, Kind.UNKNOWN):
        return kind, value.detail
    return _key_of_container(value, depth)


def _key_of_origin(origin: Origin | None) -> Hashable:
    """What distinguishes origins: that of a batch decides which loader feeds the device."""
    if origin is None:
        return None
    loaders = frozenset(id(each.node) for each in origin.every) if origin.kind == "batch" else None
    return origin.kind, origin.pins, loaders


def _key_of_container(value: Value, depth: int) -> Hashable:
    kind = value.kind
    if depth <= 0:
        return kind, value.device
    if kind in (Kind.UNION, Kind.MODULES):
        return kind, tuple(key(item, 1) for item in value.items[:_KEYS]), len(value.items)
    if kind is Kind.PARTIAL:
        return kind, key(value.target, 1)
    detail = value.detail if isinstance(value.detail, str) else None
    items = tuple(key(item, depth - 1) for item in value.items[:_KEYS])
    fields = tuple((name, key(item, depth - 1)) for name, item in list(value.fields.items())[:_KEYS])
    element = key(value.element, depth - 1) if value.element is not None else None
    return kind, detail, value.device, items, fields, len(value.fields), element
