"""Where programs make iterators of loaders."""

from __future__ import annotations

import ast

from torchlint.engine.frames import Region, Started
from torchlint.engine.state import State
from torchlint.engine.values import UNKNOWN, Kind, Value, leaves

_IN_BATCH = 3  # containers


def start(state: State, iterable: Value, node: ast.expr, region: Region, *, whole: bool = False) -> None:
    """Note that an iterator is made of a loader, perhaps for a loop through the whole of it."""
    for value in iterable.members:
        if value.kind is Kind.LOADER and not state.frame.module.library:
            parts = (value, *leaves(value.element or UNKNOWN, _IN_BATCH))
            made = frozenset(part.origin.node for part in parts if part.origin is not None)
            state.starts[node, region] = Started(state.frame, whole, made)


def iterator(state: State, iterable: Value, node: ast.expr, *, whole: bool = False) -> Value:
    """The iterator of an iterable, which is another value only for a loader."""
    start(state, iterable, node, state.region, whole=whole)
    if iterable.kind is not Kind.LOADER:
        return iterable
    return Value(Kind.GENERATOR, "loader", element=iterable.element, receiver=iterable)
