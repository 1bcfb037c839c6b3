"""Related tensors: the tensor whose device a new tensor needs, since it is made after it or used with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates
from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import chain, method, receiver
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge.factories import FACTORIES
from torchlint.knowledge.portability import MOVE_METHODS, TENSOR_ONLY_ATTRIBUTES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_SIZES = frozenset({"size", "shape", "numel"})


class RelatedTensors:
    """Finds the tensors in one module that new tensors are used with."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def tensor_for(self, place: cst.CSTNode) -> str | None:
        """The name of the tensor that gives a new tensor its size, or is an operand beside it; None if there is none.

        The place is a move of the new tensor, as in ``torch.zeros(n).cuda()``, or the argument ``device=`` of a
        factory.
        """
        made = self._factory(place)
        if made is None:
            return None
        for name in (*self._sized_by(made), *self._operands_beside(place)):
            if self._is_unmoved_tensor(name):
                return name.value
        return None

    def _factory(self, place: cst.CSTNode) -> cst.Call | None:
        """The call of a torch factory that a place moves or is an argument of, or None."""
        if isinstance(place, cst.Call) and method(place) in MOVE_METHODS:
            call = next((link for link in chain(place) if isinstance(link, cst.Call)), None)
        else:
            call = self._module.call_with_argument(place)
        is_factory = call is not None and self._module.qualified(call.func) in {*FACTORIES, "torch.tensor"}
        return call if is_factory else None

    def _sized_by(self, made: cst.Call) -> Iterator[cst.Name]:
        """Tensors that give the size: ``x`` in ``torch.zeros(x.size(0), 4)``."""
        for node in self._module.within(made, cst.Name):
            parent = self._module.parent(node)
            if isinstance(parent, cst.Attribute) and parent.value is node and parent.attr.value in _SIZES:
                yield node

    def _operands_beside(self, place: cst.CSTNode) -> Iterator[cst.Name]:
        """Tensors on the other side of an operator: ``x`` in ``x + torch.randn(4).cuda()``."""
        below = place
        for around in self._module.ancestors(place):
            if isinstance(around, cst.BinaryOperation):
                yield from _operands(around.right if below is around.left else around.left)
            elif isinstance(around, cst.BaseSmallStatement):
                return
            below = around

    def _is_unmoved_tensor(self, name: cst.Name) -> bool:
        """Whether a name is a tensor that is never moved."""
        bindings = self._module.definitions(name)
        if len(bindings) != 1 or not self._is_tensor(name, bindings[0]):
            return False
        binding = bindings[0]
        if binding.kind == "parameter":
            known = True
        else:
            made = binding.value
            known = binding.kind == "assign" and isinstance(made, cst.Call) and method(made) not in MOVE_METHODS
            known = known and dominates(self._module, binding.statement, name)
        return known and not any(map(self._is_moved, self._module.uses(binding)))

    def _is_tensor(self, name: cst.Name, binding: Binding) -> bool:
        value = self._module.value(name)
        if value.known:
            return value.kind is Kind.TENSOR and value.device is not Device.CPU
        if isinstance(binding.statement, cst.Param) and binding.statement.annotation is not None:
            return (dotted(binding.statement.annotation.annotation) or "").endswith("Tensor")
        return any(map(self._used_as_tensor, self._module.uses(binding)))

    def _used_as_tensor(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        if not isinstance(parent, cst.Attribute) or parent.value is not use:
            return False
        call = self._module.parent(parent)
        called = isinstance(call, cst.Call) and call.func is parent
        return parent.attr.value in TENSOR_ONLY_ATTRIBUTES or (
            called and parent.attr.value == "size"
        )  # `size` of an array is an attribute

    def _is_moved(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        call = self._module.parent(parent) if isinstance(parent, cst.Attribute) and parent.value is use else None
        return isinstance(call, cst.Call) and method(call) in MOVE_METHODS and receiver(call) is use


def _operands(node: cst.BaseExpression) -> Iterator[cst.Name]:
    """The variables of an expression: ``x`` and ``y`` in ``x[0] * 2 + y.relu()``."""
    if isinstance(node, cst.BinaryOperation):
        yield from _operands(node.left)
        yield from _operands(node.right)
        return
    root = chain(node)[0]
    if isinstance(root, cst.Name):
        yield root
