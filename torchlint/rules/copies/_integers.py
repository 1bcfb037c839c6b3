"""Integers: which expressions are integers, by the way they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import literal, method, positional
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 12
_COUNT_METHODS = frozenset("numel dim ndimension nelement".split())
_COUNT_ATTRIBUTES = frozenset("ndim size".split())
_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)


class Integers:
    """Recognizes integers in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def is_integer(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether an expression is an ``int``; ``True`` and ``False`` do not count."""
        if depth == 0:
            return False
        constant = literal(node)
        if constant is not ...:
            return isinstance(constant, int) and not isinstance(constant, bool)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            return isinstance(node.operator, _OPERATORS) and all(self.is_integer(side, depth - 1) for side in sides)
        if isinstance(node, cst.UnaryOperation):
            return isinstance(node.operator, cst.Minus) and self.is_integer(node.expression, depth - 1)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Subscript):
            return self._is_dimension(node)
        if isinstance(node, cst.Attribute):
            return node.attr.value in _COUNT_ATTRIBUTES and self._module.value(node.value).kind is Kind.NDARRAY
        return isinstance(node, cst.Name) and self._name(node, depth)

    def _call(self, call: cst.Call) -> bool:
        name = self._module.qualified(call.func)
        if name is not None:
            return name in ("builtins.len", "builtins.int")
        one = len(call.args) == 1 and isinstance(literal(positional(call, 0)), int)
        return (method(call) in _COUNT_METHODS and not call.args) or (method(call) == "size" and one)

    def _is_dimension(self, node: cst.Subscript) -> bool:
        """Whether an expression is a dimension: ``x.shape[0]``, ``x.size()[0]``."""
        index = node.slice[0].slice if len(node.slice) == 1 else None
        whole = isinstance(index, cst.Index) and isinstance(literal(index.value), int)
        return whole and _is_shape(node.value)

    def _name(self, name: cst.Name, depth: int) -> bool:
        bindings = self._module.definitions(name)
        return bool(bindings) and all(self._bound(binding, depth) for binding in bindings)

    def _bound(self, binding: Binding, depth: int) -> bool:
        if binding.kind == "parameter":
            annotation = binding.statement.annotation if isinstance(binding.statement, cst.Param) else None
            return annotation is not None and dotted(annotation.annotation) == "int"
        if binding.kind == "loop":
            return self._is_counter(binding)
        if binding.kind not in ("assign", "walrus") or binding.value is None:
            return False
        if len(binding.path) == 1 and isinstance(binding.path[0], int):
            return _is_shape(binding.value)
        return not binding.path and self.is_integer(binding.value, depth - 1)

    def _is_counter(self, binding: Binding) -> bool:
        """Whether a loop variable is a counter: of ``range(n)``, or the first one of ``enumerate``."""
        iterable = binding.value
        name = self._module.qualified(iterable.func) if isinstance(iterable, cst.Call) else None
        if isinstance(iterable, cst.Call) and name == "builtins.enumerate":
            return binding.path == ("each", 0) and len(iterable.args) == 1
        return name == "builtins.range" and binding.path == ("each",)


def _is_shape(node: cst.CSTNode) -> bool:
    """Whether an expression is ``x.shape`` or ``x.size()``."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "shape"
    return isinstance(node, cst.Call) and method(node) == "size" and not node.args
