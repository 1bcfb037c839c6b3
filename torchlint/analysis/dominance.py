"""Dominance: which statements have run before a place, and which names are visible there."""

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
    """The names visible at a place that satisfy ``wanted``, with all their bindings in the scope they belong to.

    Pass the same function each time: what it selects in a scope is computed once.
    """
    start = code.names.scope_at(place)
    scope: Scope | None = start
    while scope is not None:
        for name, bindings in code.shared(_Sifted).of(scope, wanted):
            if code.names.lookup_scope(name, start) is scope:
                yield name, bindings
        scope = scope.parent


class _Sifted:
    """The wanted names of each scope, computed once per scope."""

    def __init__(self, _: Code) -> None:
        self._known: dict[tuple[Scope, Wanted], list[tuple[str, list[Binding]]]] = {}

    def of(self, scope: Scope, wanted: Wanted) -> list[tuple[str, list[Binding]]]:
        if (scope, wanted) not in self._known:
            self._known[scope, wanted] = [item for item in scope.bindings.items() if wanted(*item)]
        return self._known[scope, wanted]


def dominates(code: Code, statement: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a statement always runs before a place: it comes earlier in the same or an enclosing block."""
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
    """Whether two nodes are in different branches, so that no pass through the code runs both."""
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
