"""Dominance: which names can be read at a place, what has certainly run before it, and where values come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.bindings import Binding
from torchlint.analysis.guards import different_branches
from torchlint.analysis.names import Scope

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


Wanted = Callable[[str, list[Binding]], bool]


def visible(module: SourceModule, place: cst.CSTNode, wanted: Wanted) -> Iterator[tuple[str, list[Binding]]]:
    """The wanted ones of the names that can be read at a place, with all bindings in the scope that each belongs to."""
    start = module.names.scope_at(place)
    scope: Scope | None = start
    while scope is not None:
        for name, bindings in module.shared(_Sifted).of(scope, wanted):
            if module.names.lookup_scope(name, start) is scope:
                yield name, bindings
        scope = scope.parent


class _Sifted:
    """The wanted names of each scope, looked for once: places ask as often as there are findings."""

    def __init__(self, _: SourceModule) -> None:
        self._known: dict[tuple[Scope, Wanted], list[tuple[str, list[Binding]]]] = {}

    def of(self, scope: Scope, wanted: Wanted) -> list[tuple[str, list[Binding]]]:
        if (scope, wanted) not in self._known:
            self._known[scope, wanted] = [item for item in scope.bindings.items() if wanted(*item)]
        return self._known[scope, wanted]


def dominates(module: SourceModule, statement: cst.CSTNode, place: cst.CSTNode) -> bool:
    """A statement has certainly run when a place is reached: it stands before it, in a block around it."""
    line = statement
    while not isinstance(line, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        above = module.parent(line)
        if above is None:
            return False
        line = above
    block = module.parent(line)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return False
    inside = any(around is block for around in module.ancestors(place))
    return inside and module.comes_before(line, place) and not _within(module, place, line)


def _within(module: SourceModule, place: cst.CSTNode, line: cst.CSTNode) -> bool:
    return any(around is line for around in module.ancestors(place))


def exclusive(module: SourceModule, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """The two never run in the same pass through the code: they stand in different branches."""
    below: dict[cst.CSTNode, cst.CSTNode] = {}
    child = one
    while (around := module.parent(child)) is not None:
        below[around] = child
        child = around
    child = other
    while (around := module.parent(child)) is not None:
        if around in below:
            return different_branches(around, below[around], child)
        child = around
    return False


def sources(module: SourceModule, node: cst.BaseExpression, depth: int = 8) -> list[cst.BaseExpression]:
    """Every expression that a name, or a choice of two, may have got its value from; empty when one is out of sight.

    The callers of a function are in sight in a program, a file with a main guard: other files hardly call it.
    """
    if depth == 0:
        return []
    if isinstance(node, cst.IfExp):
        return _all(module, [node.body, node.orelse], depth)
    if not isinstance(node, cst.Name):
        return [node]
    found: list[cst.BaseExpression] = []
    for binding in module.definitions(node):
        if binding.kind == "assign" and not binding.path and binding.value is not None:
            found.append(binding.value)
        elif binding.kind == "parameter" and "__main__" in module.text and (given := module.parameters.given(binding)):
            found += given
        else:
            return []
    return _all(module, found, depth)


def _all(module: SourceModule, nodes: list[cst.BaseExpression], depth: int) -> list[cst.BaseExpression]:
    parts = [sources(module, node, depth - 1) for node in nodes]
    return [source for part in parts for source in part] if all(parts) else []
