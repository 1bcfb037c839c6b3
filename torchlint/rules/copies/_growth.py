"""Tensors that grow in a loop by concatenation, and are read only after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.repetition import COMPREHENSIONS
from torchlint.analysis.rounds import rounds
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, literal, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge.heat import PARTS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding

_FEW = 8  # rounds, in which copies do not matter


class Growth(NamedTuple):
    """A concatenation of a variable with something else, which is assigned to the same variable in a loop.

    ``name`` is the variable among the parts; ``long`` means that the loop runs over a data loader.
    """

    name: cst.Name
    long: bool


class Growths:
    """Finds them in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis

    def of(self, call: cst.Call) -> Growth | None:
        """The growth that a concatenation is; None if it is another, or if the loop needs the result at once."""
        name = self._grown(call)
        loops = self._heat.enclosing_loops(call)[0]
        if name is None or not loops or isinstance(loops[0], COMPREHENSIONS) or self._is_constructor(call):
            return None
        loop = loops[0]
        bindings = self._module.definitions(name)
        inside = [b for b in bindings if self._is_below(b.node, loop)]
        if not any(b.value is call for b in inside) or not all(self._continues(b, call) for b in inside):
            return None
        before = [b for b in bindings if b not in inside]
        if self._is_read(name, loop) or self._heat.is_throttled(call, loop):
            return None
        if not before and all(b.value is call for b in inside):
            return None
        starts = before or inside
        carrying = [loop, *(one for one in loops[1:] if not any(self._is_below(b.node, one) for b in starts))]
        if any(isinstance(one, cst.For) and self._heat.iterates_batches(one) for one in carrying):
            return Growth(name, long=True)
        return Growth(name, long=False) if any(map(self._may_be_long, carrying)) else None

    def _grown(self, call: cst.Call) -> cst.Name | None:
        """The variable among the parts to which the result is assigned."""
        assign = self._module.parent(call)
        parts = argument(call, "tensors", 0)
        if (
            not isinstance(assign, cst.Assign)
            or len(assign.targets) != 1
            or not isinstance(parts, (cst.List, cst.Tuple))
        ):
            return None
        target = assign.targets[0].target
        names = [e.value for e in parts.elements if isinstance(e.value, cst.Name)]
        same = [name for name in names if isinstance(target, cst.Name) and name.value == target.value]
        return same[0] if len(same) == 1 and len(parts.elements) > 1 else None

    def _continues(self, binding: Binding, call: cst.Call) -> bool:
        """Whether an assignment in the loop grows the variable as well, or starts it in another branch."""
        value = binding.value
        if value is call:
            return True
        if isinstance(value, cst.Call) and self._module.qualified(value.func) == self._module.qualified(call.func):
            grown = self._grown(value)
            return grown is not None and grown.value == binding.name
        return binding.kind == "assign" and self._module.exclusive(binding.node, call)

    def _is_read(self, name: cst.Name, loop: cst.CSTNode) -> bool:
        """Whether the loop uses the variable other than to grow it or to check whether it has begun."""
        bindings = self._module.definitions(name)
        uses = {use for binding in bindings for use in self._module.uses(binding)}
        return any(self._is_below(use, loop) and not self._is_growing(use) for use in uses)

    def _is_growing(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        if isinstance(parent, cst.Comparison):
            return literal(parent.comparisons[0].comparator) is None
        if isinstance(parent, cst.Element):
            call = self._module.call_with_argument(self._module.parent(parent) or use)
            return call is not None and self._grown(call) is use
        counting = self._module.call_with_argument(use)
        return counting is not None and self._module.qualified(counting.func) == "builtins.len"

    def _is_constructor(self, call: cst.Call) -> bool:
        function = self._module.function_of(call)
        return function is not None and function.name.value == "__init__"

    def _may_be_long(self, loop: cst.CSTNode) -> bool:
        """Whether the number of rounds is computed from data, rather than being small or that of some layers."""
        if not isinstance(loop, cst.For):
            return True
        over, count = loop.iter, rounds(self._module, loop)
        if isinstance(over, cst.Call) and self._module.qualified(over.func) == "builtins.range":
            stop = positional(over, min(1, len(over.args) - 1))
            return (count is None or count > _FEW) and not self._counts_parts(stop) and not self._calls_parts(loop)
        return self._module.value(over).kind is Kind.DATASET

    def _counts_parts(self, stop: cst.BaseExpression | None) -> bool:
        """Whether a number is that of layers or the like: ``len(features)``, ``self.num_layers``, ``scales``."""
        if isinstance(stop, cst.Call) and self._module.qualified(stop.func) == "builtins.len":
            return self._module.value(positional(stop, 0)).kind is not Kind.DATASET
        words = (dotted(stop) or "").rpartition(".")[2].lower().split("_")
        return any(word.removesuffix("s") in PARTS for word in words)

    def _calls_parts(self, loop: cst.For) -> bool:
        """Whether each round calls another layer: ``self.layers[i](x)``."""
        target = loop.target.value if isinstance(loop.target, cst.Name) else None
        called = (
            call.func for call in self._module.within(loop.body, cst.Call) if isinstance(call.func, cst.Subscript)
        )
        return any(isinstance(n, cst.Name) and n.value == target for func in called for n in descendants(func))

    def _is_below(self, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
        return any(around is loop for around in self._module.ancestors(node))
