"""Lists and dicts that are created empty and filled afterwards: the values of their members."""

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
    """Whether this is an empty list or dict when it is created."""
    return value.kind in (Kind.LIST, Kind.DICT) and value.elements == ()


def grown(values: Values, empty: Value, reads: Iterable[cst.CSTNode]) -> Value:
    """The list or dict after all the stores that these uses make; unknown if other code may add members."""
    if empty.kind is Kind.LIST:
        return _appended(values, reads)
    member = _stored(values, reads)
    known = member.known or member.located
    return Value(Kind.DICT, element=member if known else None, origin=empty.origin, node=empty.node)


def combined(left: Value, right: Value, node: cst.BinaryOperation) -> Value | None:
    """``[x] * n``, ``[x] + [y]``: a list whose members are all alike; None for other operators and operands."""
    if isinstance(node.operator, cst.Multiply):
        lists = [side for side in (left, right) if side.kind is Kind.LIST]
    elif isinstance(node.operator, cst.Add) and left.kind is right.kind is Kind.LIST:
        lists = [side for side in (left, right) if side.elements != ()]
    else:
        return None
    member = join(one.iterated_value() for one in lists) if lists else UNKNOWN
    return Value(Kind.LIST, element=member, origin=node, fresh=True) if member.known or member.located else None


def _stored(values: Values, reads: Iterable[cst.CSTNode]) -> Value:
    """What is stored in a dict under any key."""
    members: list[Value] = []
    for read in reads:
        parent = values.code.parent(read)
        if isinstance(parent, cst.Subscript) and parent.value is read:
            target = values.code.parent(parent)
            assign = values.code.parent(target) if isinstance(target, cst.AssignTarget) else None
            if isinstance(assign, cst.Assign):
                members.append(values.value(assign.value))
        elif isinstance(parent, cst.Attribute) and parent.attr.value in ("update", "setdefault"):
            return UNKNOWN
    return join(members) if members else UNKNOWN


def _appended(values: Values, reads: Iterable[cst.CSTNode]) -> Value:
    members: list[Value] = []
    for read in reads:
        parent = values.code.parent(read)
        if isinstance(parent, cst.Subscript) and isinstance(values.code.parent(parent), cst.AssignTarget):
            return UNKNOWN
        if isinstance(parent, cst.AugAssign) and parent.target is read:
            members.append(values.value(parent.value).iterated_value())
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
    return Value(Kind.LIST, element=member if member.known or member.located else None)
