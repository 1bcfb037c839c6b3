"""Lists that are created empty and filled by ``append``: the values of their members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method, positional
from torchlint.analysis.values.lattice import UNKNOWN, Kind, Value, join

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values

_REPLACERS = frozenset({"clear", "copy", "sort", "reverse", "pop", "popleft", "remove", "count", "index"})


def is_empty(value: Value) -> bool:
    """Whether this is an empty list display."""
    return value.kind is Kind.LIST and value.elements == ()


def grown(values: Values, reads: Iterable[cst.CSTNode]) -> Value:
    """The list after all calls of ``append`` and the like on these uses; unknown if other code may add members."""
    members: list[Value] = []
    for read in reads:
        parent = values.code.parent(read)
        if isinstance(parent, cst.Subscript) and isinstance(values.code.parent(parent), cst.AssignTarget):
            return UNKNOWN
        call = values.code.parent(parent) if isinstance(parent, cst.Attribute) and parent.value is read else None
        if not isinstance(call, cst.Call) or call.func is not parent:
            continue
        verb = method(call)
        if verb in ("append", "appendleft"):
            members.append(values.value(positional(call, 0)))
        elif verb == "insert":
            members.append(values.value(positional(call, 1)))
        elif verb in ("extend", "extendleft"):
            members.append(values.value(positional(call, 0)).iterated_value())
        elif verb not in _REPLACERS:
            return UNKNOWN
    member = join(members) if members else UNKNOWN
    return Value(Kind.LIST, element=member) if member.known else Value(Kind.LIST)
