"""Lifetimes: whether an object is still the same one in the next step, judged by where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import READING
from torchlint.knowledge import heat as known
from torchlint.knowledge.synchronization import COUNTERS
from torchlint.model import Heat

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchlint.analysis.code import Code
    from torchlint.analysis.scopes.bindings import Binding
    from torchlint.analysis.values.evaluate import Evaluator

    Filled = Callable[[cst.CSTNode], bool]

_DEPTH = 5
_KEPT_KINDS = (Kind.MODULE, Kind.OPTIMIZER)
_DEFINITIONS = ("import", "function", "class")


class HeatQueries(Protocol):
    """What the parts of the analysis of heat ask it."""

    def of(self, node: cst.CSTNode) -> Heat:
        """How often a node runs."""

    def function_heat(self, function: cst.FunctionDef) -> Heat:
        """How often a function runs."""

    def loop_kind(self, loop: cst.CSTNode) -> str | None:
        """``step``, ``epoch`` or None."""


class Lifetimes:
    """Decides which objects outlive a step."""

    def __init__(self, code: Code, values: Evaluator, heat: HeatQueries) -> None:
        self._code, self._values, self._heat = code, values, heat

    def outlives_step(self, node: cst.BaseExpression, filled: Filled, depth: int = _DEPTH) -> bool:
        """Whether an expression is the same object in the next step, as it is after what counts as ``filled``."""
        if depth == 0:
            return False
        if isinstance(node, cst.Name):
            bindings = self._code.definitions(node)
            return bool(bindings) and all(self._is_kept(b, filled, depth) for b in bindings)
        if isinstance(node, cst.Subscript):
            fixed = not any(self.varies(part.slice) for part in node.slice)
            return fixed and self.outlives_step(node.value, filled, depth - 1)
        if isinstance(node, cst.Attribute):
            return node.attr.value in known.KEPT_NAMES or self.outlives_step(node.value, filled, depth - 1)
        if isinstance(node, cst.Call):
            return self._is_part(node, filled, depth)
        return False

    def _is_part(self, call: cst.Call, filled: Filled, depth: int) -> bool:
        """``self.cache.setdefault(key, {})``, ``model.parameters()``, ``enumerate(self.param_groups)``."""
        if method(call) in known.PART_METHODS:
            source = receiver(call)
            return source is not None and self.outlives_step(source, filled, depth - 1)
        if self._code.qualified(call.func) not in known.PART_FUNCTIONS:
            return False
        return any(self.outlives_step(arg.value, filled, depth - 1) for arg in call.args)

    def _is_kept(self, binding: Binding, filled: Filled, depth: int) -> bool:
        if binding.kind in _DEFINITIONS or binding.name in known.KEPT_NAMES or filled(binding.statement):
            return True
        if binding.kind == "parameter":
            return self._is_kept_parameter(binding)
        value = binding.value
        if binding.kind == "loop":
            fixed = self._heat.loop_kind(binding.statement) != "step"
            return fixed and value is not None and self.outlives_step(value, filled, depth - 1)
        if binding.kind == "augment" or self._heat.of(binding.node).rank < Heat.STEP.rank:
            return True
        whole = binding.kind == "assign" and not binding.path
        return whole and value is not None and self.outlives_step(value, filled, depth - 1)

    def _is_kept_parameter(self, binding: Binding) -> bool:
        function = self._code.function_of(binding.node)
        if binding.name in ("self", "cls") or isinstance(binding.value, (cst.Dict, cst.List, cst.Call)):
            return True
        if function is not None and self._heat.function_heat(function).rank < Heat.STEP.rank:
            return True
        return isinstance(binding.node, cst.Name) and self._values.value(binding.node).kind in _KEPT_KINDS

    def varies(self, key: cst.CSTNode, depth: int = _DEPTH) -> bool:
        """Whether a key may be a new one in every step: a counter, a number of the batch, what a tensor contains."""
        return any(self._part_varies(part, depth) for part in descendants(key))

    def _part_varies(self, part: cst.CSTNode, depth: int) -> bool:
        if isinstance(part, cst.Call):
            return method(part) in READING
        if isinstance(part, cst.Attribute):
            return part.attr.value.lower() in COUNTERS
        if not isinstance(part, cst.Name) or isinstance(self._code.parent(part), cst.Attribute):
            return False
        bindings = self._code.definitions(part)
        loops = [b for b in bindings if b.kind == "loop"]
        if loops:
            return any(self._heat.loop_kind(b.statement) == "step" or self._reads(b.value) for b in loops)
        made = [b.value for b in bindings if b.kind == "assign" and b.value is not None] if depth else []
        return part.value.lower() in COUNTERS or any(self.varies(value, depth - 1) for value in made)

    def _reads(self, iterable: cst.BaseExpression | None) -> bool:
        """Whether a loop goes through what a tensor contains."""
        if iterable is None:
            return False
        return self._values.value(iterable).kind is Kind.TENSOR or self.varies(iterable, 0)


def root(node: cst.CSTNode) -> tuple[str | None, int]:
    """``("self.cache", 2)`` for ``self.cache[a][b]``: the chain of names, and the number of subscripts behind it."""
    levels = 0
    while isinstance(node, cst.Subscript):
        node, levels = node.value, levels + 1
    return dotted(node), levels
