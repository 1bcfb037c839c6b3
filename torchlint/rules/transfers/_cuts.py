"""Parts of tensors on the host that are moved in every training step, without a data loader."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, method, receiver
from torchlint.analysis.things.move import Move, Moves
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.catalogue.views import CASTS, JOINING
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding

_PIN = "pin_memory"
_DEPTH = 3
# Methods of a part that leave it on the host, besides views.
_COPIES = CASTS.keys() | {"contiguous", "clone"}


class Cut(NamedTuple):
    """A blocking move of a part of the tensor ``whole``."""

    move: Move
    whole: cst.Name


class Cuts:
    """Finds, in one module, moves of parts of tensors that exist before the step."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def starting_with(self, move: Move) -> list[Cut]:
        """The cuts of a statement, if a move is the first of them; otherwise none."""
        found = self._by_statement.get(self._module.statement_of(move.call), [])
        return found if found and found[0].move is move else []

    @cached_property
    def _by_statement(self) -> dict[cst.CSTNode, list[Cut]]:
        found: dict[cst.CSTNode, list[Cut]] = {}
        for move in self._module.shared(Moves).all() if _PIN not in self._module.text else ():
            whole = self._cut_by(move)
            if whole is not None:
                found.setdefault(self._module.statement_of(move.call), []).append(Cut(move, whole))
        return found

    def _cut_by(self, move: Move) -> cst.Name | None:
        """The tensor on the host of which a move takes a part in every training step, or None."""
        if move.method not in ("to", "cuda") or not move.blocking or self._module.in_test(move.call):
            return None
        whole = self._whole(move.moved)
        if whole is None or not move.to_accelerator or not self._module.every_step(move.call):
            return None
        heat = self._module.heat_analysis
        return whole if self._lies_on_host(whole) and self._outlives(whole, heat.enclosing_step(move.call)) else None

    def _whole(self, node: cst.BaseExpression) -> cst.Name | None:
        """The tensor of which an expression is a part, or joins parts."""
        bound = self._bound(node)
        node = bound if bound is not None else node
        while isinstance(node, cst.Call) and method(node) in known.VIEW_METHODS | _COPIES:
            node = receiver(node) or node.func
        if isinstance(node, cst.Call) and self._module.qualified(node.func) in JOINING:
            joined = argument(node, "tensors", 0)
            node = joined.elt if isinstance(joined, cst.ListComp) else node
        return node.value if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) else None

    def _bound(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """What a variable with a single definition is assigned."""
        bindings = self._module.definitions(node) if isinstance(node, cst.Name) else ()
        return bindings[0].value if len(bindings) == 1 and _is_plain(bindings[0]) else None

    def _lies_on_host(self, whole: cst.Name) -> bool:
        value = self._module.value(whole)
        return value.kind is Kind.TENSOR and value.device is Device.CPU

    def _outlives(self, whole: cst.BaseExpression, step: cst.CSTNode, depth: int = _DEPTH) -> bool:
        """Whether a tensor is made before a step, also if the step chooses it from several."""
        if isinstance(whole, cst.IfExp):
            return all(self._outlives(side, step, depth) for side in (whole.body, whole.orelse))
        bindings = self._module.definitions(whole) if isinstance(whole, cst.Name) else ()
        return bool(bindings) and all(self._made_before(binding, step, depth) for binding in bindings)

    def _made_before(self, binding: Binding, step: cst.CSTNode, depth: int) -> bool:
        if not any(around is step for around in self._module.ancestors(binding.statement)):
            return True
        alias = binding.value if _is_plain(binding) and isinstance(binding.value, (cst.Name, cst.IfExp)) else None
        return depth > 0 and alias is not None and self._outlives(alias, step, depth - 1)


def _is_plain(binding: Binding) -> bool:
    return binding.kind == "assign" and not binding.path and binding.value is not None
