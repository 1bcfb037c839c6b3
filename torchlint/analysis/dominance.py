"""Dominance: which names can be read at a place, and what has certainly run before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.scopes.guards import different_branches
from torchlint.analysis.scopes.names import Scope

if TYPE_CHECKING:
    from torchlint.analysis.code import Code


Wanted = Callable[[str, list[Binding]], bool]


def visible_names(code: Code, place: cst.CSTNode, wanted: Wanted) -> Iterator[tuple[str, list[Binding]]]:
    """The wanted ones of the names that can be read at a place, with all bindings in the scope that each belongs to."""
    start = code.names.scope_at(place)
    scope: Scope | None = start
    while scope is not None:
        for name, bindings in code.shared(_Sifted).of(scope, wanted):
            if code.names.lookup_scope(name, start) is scope:
                yield name, bindings
        scope = scope.parent


class _Sifted:
    """The wanted names of each scope, looked for once: places ask as often as there are findings."""

    def __init__(self, _: Code) -> None:
        self._known: dict[tuple[Scope, Wanted], list[tuple[str, list[Binding]]]] = {}

    def of(self, scope: Scope, wanted: Wanted) -> list[tuple[str, list[Binding]]]:
        if (scope, wanted) not in self._known:
            self._known[scope, wanted] = [item for item in scope.bindings.items() if wanted(*item)]
        return self._known[scope, wanted]


def dominates(code: Code, statement: cst.CSTNode, place: cst.CSTNode) -> bool:
    """A statement has certainly run when a place is reached: it stands before it, in a block around it."""
    line = statement
    while not isinstance(line, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        above = code.parent(line)
        if above is None:
            return False
        line = above
    block = code.parent(line)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return False
    inside = any(around is block for around in code.ancestors(place))
    return inside and code.comes_before(line, place) and not _within(code, place, line)


def _within(code: Code, place: cst.CSTNode, line: cst.CSTNode) -> bool:
    return any(around is line for around in code.ancestors(place))


def exclusive(code: Code, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """The two never run in the same pass through the code: they stand in different branches."""
    below: dict[cst.CSTNode, cst.CSTNode] = {}
    child = one
    while (around := code.parent(child)) is not None:
        below[around] = child
        child = around
    child = other
    while (around := code.parent(child)) is not None:
        if around in below:
            return different_branches(around, below[around], child)
        child = around
    return False
