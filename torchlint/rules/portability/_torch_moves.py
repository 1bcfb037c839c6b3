"""Moves of torch: whether ``x.cuda()`` is the method of torch, which ``x.to(device)`` can replace."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import receiver
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_OBJECT = "an object that is not one of torch's own tensors and modules may have no `to` method, or another one"
_OWN = "a class may define `cuda` or `to` in its own way"
_MOVES = frozenset({"cuda", "to"})
_SCRIPTED = re.compile(r"\bjit\b")


class TorchMoves:
    """Decides which calls of ``cuda`` in one module are those of tensors and modules of torch."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @cached_property
    def are_scripted(self) -> bool:
        """Whether the file may compile functions to TorchScript."""
        return _SCRIPTED.search(self._module.text) is not None

    def caveats(self, call: cst.Call) -> tuple[str, ...]:
        """What may make a call of ``cuda`` different from ``to``."""
        moved = receiver(call)
        if not self._is_plain_tensor(moved) and not self._is_plain_module(moved):
            return (_OBJECT,)
        return (_OWN,) if self._are_redefined else ()

    def _is_plain_tensor(self, node: cst.BaseExpression | None) -> bool:
        """Whether an expression is a tensor, or is used as one where no class of the run has moves of its own."""
        used = self._module.value(node).kind is Kind.TENSOR and not self._module.has_own_moves
        return used or self._module.is_plain_tensor(node)

    def _is_plain_module(self, node: cst.BaseExpression | None) -> bool:
        """Whether an expression is a module that is moved by torch's own methods."""
        value = self._module.value(node)
        if value.kind is not Kind.MODULE:
            return False
        owner = value.node
        return not isinstance(owner, cst.ClassDef) or self._module.classes.inherits_from_torch(owner, _MOVES)

    @cached_property
    def _are_redefined(self) -> bool:
        """Whether a class of the file defines such a method, or one of a class is assigned."""
        methods = self._module.nodes_of(cst.FunctionDef, _MOVES)
        return any(method.name.value in _MOVES for method in methods) or any(
            self._is_method_of_class(a) and isinstance(self._module.parent(a), cst.AssignTarget)
            for name in _MOVES
            for a in self._module.attributes_named(name)
        )

    def _is_method_of_class(self, attribute: cst.Attribute) -> bool:
        """Whether an attribute is one of a class, unlike the option ``args.cuda``."""
        of_torch = (self._module.qualified(attribute.value) or "").startswith("torch.")
        return of_torch or self._module.value(attribute.value).kind is Kind.CLASS
