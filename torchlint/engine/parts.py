"""Parts of tensors and containers: what an index selects, and what the part is."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchlint.engine.chosen import among
from torchlint.engine.origins import of_operands, read_among
from torchlint.engine.state import State
from torchlint.engine.union import join_all
from torchlint.engine.values import ELEMENT, MASK, UNKNOWN, Device, Kind, Origin, Value, computed, tensor
from torchlint.project.followed import OWN

_JOINED = 60  # fields of a dict that a key that is not known may mean


def is_literal(index: ast.expr) -> bool:
    """Whether an index consists of constants and slices."""
    return not any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(index))


def part_of(value: Value) -> Value:
    """A part of a tensor, with a dimension less."""
    rank = value.rank - 1 if value.rank else None
    return tensor(value.device or Device.UNKNOWN, sure=value.sure, detail=value.detail, origin=value.origin, rank=rank)


def rank_of_part(owner: Value, indices: list[Value | None]) -> int | None:
    """The number of dimensions of a part, if numbers and slices select it."""
    numbers = [index for index in indices if index is not None]
    return owner.rank - len(numbers) if owner.rank is not None and all(map(is_number, numbers)) else None


def is_number(value: Value) -> bool:
    """Whether a value is a number."""
    return value.kind is Kind.NUMBER or (value.kind is Kind.CONSTANT and isinstance(value.detail, (int, float)))


def origin_of_part(owner: Value, indices: list[Value | None]) -> Origin | None:
    """Where a part comes from.

    What is selected by something on the device, the host does not have; what data select is not the program's own.
    """
    given = [index for index in indices if index is not None]
    if owner.device is Device.ACCELERATOR:
        selected = any(index.device is Device.ACCELERATOR for index in given)
        return computed(owner.origin) if selected else owner.origin
    if owner.origin is not None and owner.origin.kind in OWN:
        return of_operands([owner, *given])
    return read_among(given) or owner.origin


def field_at(owner: Value, index: Value | None, said: Callable[[str], frozenset[str]]) -> Value:
    """What a container has at an index; ``said`` are the values that the project gives an option."""
    known = index is not None and index.kind is Kind.CONSTANT and index.sure
    if known and index is not None and isinstance(index.detail, (str, int)) and index.detail in owner.fields:
        return owner.fields[index.detail]
    values = [*among(owner.fields, index, said), *([owner.element] if owner.element is not None else [])]
    if not known and values and len(values) <= _JOINED:
        return join_all(values)
    return owner.element or (ELEMENT if owner.is_batch else UNKNOWN)


def is_content_of_host(value: Value) -> bool:
    """Whether an index is copied while the host waits; since torch 2.9 masks are copied from pinned memory.

    A single number selects a part, as those of Python do.
    """
    on_host = value.kind is Kind.TENSOR and value.device is Device.HOST and value.detail != MASK
    return value.kind is Kind.ARRAY or (on_host and value.rank != 0)


def is_listed(node: ast.AST, index: Value) -> bool:
    """Whether something is indexed with a list of numbers that stands there."""
    slice_ = getattr(node, "slice", None)
    parts = (*slice_.elts, slice_) if isinstance(slice_, ast.Tuple) else (slice_,)
    inside = index.items or ([index.element] if index.element is not None else [])
    numbers = bool(inside) and all(each.kind in (Kind.NUMBER, Kind.CONSTANT) for each in inside)
    return numbers and any(isinstance(part, (ast.List, ast.ListComp)) for part in parts)


def stands_in(node: ast.AST, index: ast.expr) -> bool:
    """Whether a call is an index, or one of several, so that its result is no single number."""
    return node in (index.elts if isinstance(index, ast.Tuple) else (index,))


def is_key(owner: Value, index: Value) -> bool:
    """Whether something is indexed with what iterating over it gives, as dicts are."""
    same = index.kind is Kind.TENSOR and index.origin is not None and index.origin == owner.origin
    return same and owner.origin.kind == "batch"  # type: ignore[union-attr]


def is_tensor_on(owner: Value, state: State) -> bool:
    """Whether a value is a tensor of the device."""
    return owner.kind is Kind.TENSOR and state.on_device(owner)


def selects_one(index: Value) -> bool:
    """Whether an index selects one element in its dimensions."""
    parts = index.items if index.kind is Kind.TUPLE else [index]
    return all(part.kind in (Kind.CONSTANT, Kind.NUMBER) for part in parts)
