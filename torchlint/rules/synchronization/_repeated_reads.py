"""Repeated reads: a read of a value that has certainly been read earlier in the same step hardly waits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.syntax.walk import descendants, wording

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.read import Read

_MAX_EARLIER_READS = 20  # for each value
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
Pair = tuple[cst.BaseExpression, cst.BaseExpression]
Conditions = set[tuple[cst.CSTNode, object]]


def repeated_reads(module: SourceModule, reads: Iterable[Read]) -> set[Read]:
    """The reads, given in source order, that are dominated by an earlier read of the same value."""
    earlier: dict[str, list[tuple[Pair, Conditions]]] = {}
    again: set[Read] = set()
    for read in reads:
        node, value = read.node, _unwrapped(read.tensor)
        before, conditions = earlier.setdefault(wording(value), []), _conditions(module, node)
        if any(least <= conditions and _is_same(module, one, (node, value)) for one, least in before):
            again.add(read)
        elif len(before) < _MAX_EARLIER_READS:
            before.append(((node, value), conditions))
    return again


def _is_same(module: SourceModule, one: Pair, other: Pair) -> bool:
    """Whether the value cannot change between two reads, which are not on different branches."""
    if module.exclusive(one[0], other[0]):
        return False
    return _definitions(module, one[1]) == _definitions(module, other[1]) and not _stored_between(module, one, other)


def _conditions(module: SourceModule, node: cst.CSTNode) -> Conditions:
    """The conditions under which a node runs: the guards around it, and loops that may not iterate."""
    found: Conditions = {(guard.node, (guard.kind, guard.holds)) for guard in module.guards(node)}
    below = node
    for around in module.ancestors(node):
        loops = isinstance(around, _COMPREHENSIONS) and below is not around.for_in
        loops = loops or (isinstance(around, (cst.For, cst.While)) and below is around.body)
        if loops or isinstance(around, cst.Else):
            found.add((around, None))
        below = around
    return found


def _definitions(module: SourceModule, value: cst.BaseExpression) -> list[object]:
    """The reaching definitions of the variables in an expression."""
    members = {part.attr for part in descendants(value) if isinstance(part, cst.Attribute)}
    names = [part for part in descendants(value) if isinstance(part, cst.Name) and part not in members]
    return [module.definitions(name) for name in names]


def _stored_between(module: SourceModule, one: Pair, other: Pair) -> bool:
    """Whether an attribute of the value is assigned between two reads: ``self.loss = ..``."""
    text = wording(one[1])
    for part in descendants(one[1]):
        for same in module.attributes_named(part.attr.value) if isinstance(part, cst.Attribute) else ():
            stored = isinstance(module.parent(same), cst.AssignTarget) and text.find(wording(same)) >= 0
            if stored and module.comes_before(one[0], same) and module.comes_before(same, other[0]):
                return True
    return False


def _unwrapped(node: cst.BaseExpression) -> cst.BaseExpression:
    """The value that is read, without its conversions: ``loss`` in ``loss.detach()``."""
    while isinstance(node, cst.Call) and method(node) in ("detach", "mean", "data", "float", "squeeze"):
        inner = receiver(node)
        assert inner is not None
        node = inner
    while isinstance(node, cst.Attribute) and node.attr.value == "data":
        node = node.value
    return node
