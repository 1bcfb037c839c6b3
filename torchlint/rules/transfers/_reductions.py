"""TL206: tensors that are copied to the host whole, only to be reduced there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import chain, literal, positional
from torchlint.analysis.things.move import Move, Moves
from torchlint.analysis.values.semantics.device_evidence import GRADIENT
from torchlint.catalogue.views import ENLARGING, FORMS, REDUCING
from torchlint.knowledge.transfers import REDUCING_FUNCTIONS
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# What comes between the copy and the reduction, and leaves the number of elements.
_PASSING = (FORMS - ENLARGING) | {"numpy", "tolist"}
_PASSING_ATTRIBUTES = frozenset({"data", "T"})
_DEPTH = 12


class HostReduction(NamedTuple):
    """A copy to the host whose result is used for nothing but a reduction.

    ``name`` is the function or method that reduces, as it is called; None for a subscript.
    """

    move: Move
    place: cst.BaseExpression
    name: str | None


class HostReductions:
    """Finds them in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)

    def of(self, move: Move) -> HostReduction | None:
        """The reduction of what a call copies to the host in every step, or None."""
        if not move.to_host or not self._is_large(move):
            return None
        if self._module.heat(move.call).rank < Heat.STEP.rank:
            return None
        for node in self._passed_on(move.call):
            reduced = self._reduction(move, node)
            if reduced is not None:
                return reduced
        return None

    def _is_large(self, move: Move) -> bool:
        """Whether a move copies a tensor from the device that is not certainly a single number."""
        value = self._module.value(move.moved)
        if not value.accelerated or value.source == GRADIENT.source or value.rank == 0:
            return False
        return not self._is_loss(move.moved)

    def _is_loss(self, node: cst.BaseExpression) -> bool:
        """Whether ``backward`` is called on a variable, of which an expression is made by methods."""
        defined = set(self._module.definitions(root)) if isinstance(root := chain(node)[0], cst.Name) else set()
        starts = (attribute.value for attribute in self._module.attributes_named("backward"))
        return any(isinstance(s, cst.Name) and defined.intersection(self._module.definitions(s)) for s in starts)

    def _passed_on(self, call: cst.Call) -> Iterator[cst.BaseExpression]:
        """The expressions that hold all elements of the copy, one after another: views, and a variable used once."""
        node: cst.BaseExpression | None = call
        for _ in range(_DEPTH):
            if node is None:
                return
            yield node
            node = self._next(node)

    def _next(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Attribute) and parent.value is node:
            if parent.attr.value in _PASSING_ATTRIBUTES:
                return parent
            called = self._module.parent(parent)
            passes = parent.attr.value in _PASSING and isinstance(called, cst.Call) and called.func is parent
            return called if passes and isinstance(called, cst.Call) else None
        if isinstance(parent, cst.Comparison):
            return parent if self._compares_copies(parent) else None
        return self._only_use(parent)

    def _only_use(self, assign: cst.CSTNode | None) -> cst.Name | None:
        """The only use of the variable that a statement assigns."""
        if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
            return None
        target = assign.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self._module.uses(binding) if binding is not None else []
        if len(uses) != 1 or len(self._module.definitions(uses[0])) != 1:
            return None
        same = self._module.heat(uses[0]).rank >= Heat.STEP.rank
        return uses[0] if same else None

    def _compares_copies(self, comparison: cst.Comparison) -> bool:
        """``pred.cpu() == y.cpu()``, ``pred.cpu() > 0``: each side comes from the device, or is a number."""
        sides = (comparison.left, *(target.comparator for target in comparison.comparisons))
        copied = (self._is_copied(side) or isinstance(literal(side), (int, float)) for side in sides)
        return len(sides) == 2 and all(copied)

    def _is_copied(self, node: cst.BaseExpression) -> bool:
        while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            move = self._moves.at(node)
            if move is not None and move.to_host:
                return self._is_large(move)
            if node.func.attr.value not in _PASSING:
                return False
            node = node.func.value
        return False

    # -- reductions --------------------------------------------------------------------------------

    def _reduction(self, move: Move, node: cst.BaseExpression) -> HostReduction | None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Attribute) and parent.value is node:
            call = self._module.parent(parent)
            if parent.attr.value in REDUCING and isinstance(call, cst.Call) and call.func is parent:
                return HostReduction(move, call, f".{parent.attr.value}()")
        if isinstance(parent, cst.Subscript) and parent.value is node and self._selects(parent):
            return HostReduction(move, parent, None)
        call = self._module.call_with_argument(node)
        if call is None or positional(call, 0) is not node:
            return None
        name = self._module.qualified(call.func)
        if name in REDUCING_FUNCTIONS:
            return HostReduction(move, call, f"{name.rpartition('.')[2]}()" if name is not None else None)
        return None

    def _selects(self, subscript: cst.Subscript) -> bool:
        """``[:, -1]``: a fixed part; the first one may be all there is."""
        indices = [literal(e.slice.value) for e in subscript.slice if isinstance(e.slice, cst.Index)]
        assigned = isinstance(self._module.parent(subscript), (cst.AssignTarget, cst.AugAssign))
        fixed = all(isinstance(index, int) for index in indices)
        return fixed and any(index != 0 for index in indices) and not assigned and len(subscript.slice) > 1
