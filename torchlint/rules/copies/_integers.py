"""Integers: which expressions are certainly integers, and their lower bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import literal, method, positional
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 12
_MAX_VARIABLES = 3  # variables assigned to each other
_MAX_VALUES = 8  # values assigned to one variable
_COUNT_METHODS = frozenset("numel dim ndimension nelement".split())
_COUNT_ATTRIBUTES = frozenset("ndim size".split())
_NON_NEGATIVE = (cst.Add, cst.Multiply, cst.FloorDivide, cst.Modulo)
_INTEGRAL = (*_NON_NEGATIVE, cst.Subtract)


class Integers:
    """Proves properties of integers in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def is_integer(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether an expression is certainly an ``int``; ``True`` and ``False`` do not count."""
        return self._is_proved(node, _INTEGRAL, depth)

    def is_size(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether an expression is certainly an ``int`` of at least zero."""
        return self._is_proved(node, _NON_NEGATIVE, depth)

    def is_positive(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is certainly an ``int`` of at least one."""
        least = self.lower_bound(node)
        return least is not None and least > 0

    def constant(self, node: cst.BaseExpression, depth: int = _MAX_VARIABLES) -> int | None:
        """The integer that an expression always is, as a literal or a variable with one value, or None."""
        found = literal(node)
        if isinstance(found, int):
            return None if isinstance(found, bool) else found
        if not isinstance(node, cst.Name) or depth == 0:
            return None
        bindings = self._module.definitions(node)
        if len(bindings) > _MAX_VALUES:
            return None
        constants = {self._constant_of(binding, depth - 1) for binding in bindings}
        return constants.pop() if len(constants) == 1 else None

    def _constant_of(self, binding: Binding, depth: int) -> int | None:
        if binding.kind not in ("assign", "walrus") or binding.path or binding.value is None:
            return None
        return self.constant(binding.value, depth)

    def lower_bound(self, node: cst.BaseExpression, depth: int = _DEPTH) -> int | None:
        """A lower bound of an expression, or None."""
        constant = self.constant(node)
        if constant is not None or depth == 0:
            return constant
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract)):
            left = self.lower_bound(node.left, depth - 1)
            added = isinstance(node.operator, cst.Add)
            right = self.lower_bound(node.right, depth - 1) if added else self.constant(node.right)
            return None if left is None or right is None else left + right if added else left - right
        return 0 if self.is_size(node) else None

    def is_ordered(self, start: cst.BaseExpression, stop: cst.BaseExpression, *, strictly: bool = False) -> bool:
        """Whether ``start <= stop`` is certain: ``0`` and a size, ``i`` and ``i + len(x)``."""
        first, last = self.constant(start), self.lower_bound(stop)
        if first is not None and last is not None and first + strictly <= last:
            return True
        if not isinstance(stop, cst.BinaryOperation) or not isinstance(stop.operator, cst.Add):
            return False
        for one, other in ((stop.left, stop.right), (stop.right, stop.left)):
            more = self.lower_bound(other)
            if self._is_same_integer(start, one) and more is not None and more >= strictly:
                return True
        return False

    def _is_same_integer(self, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
        """Whether two expressions are the same integer variable."""
        named = isinstance(one, cst.Name) and isinstance(other, cst.Name) and one.value == other.value
        return named and self.is_integer(one)

    def _is_proved(self, node: cst.BaseExpression, operators: tuple[type, ...], depth: int) -> bool:
        if depth == 0:
            return False
        constant = literal(node)
        if constant is not ...:
            whole = isinstance(constant, int) and not isinstance(constant, bool)
            return whole and (operators is _INTEGRAL or int(str(constant)) >= 0)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            return isinstance(node.operator, operators) and all(self._is_proved(s, operators, depth - 1) for s in sides)
        if isinstance(node, cst.UnaryOperation):
            return operators is _INTEGRAL and isinstance(node.operator, cst.Minus) and self._unary(node, depth)
        if isinstance(node, cst.Call):
            return self._call(node, operators)
        if isinstance(node, cst.Subscript):
            return self._is_dimension(node)
        if isinstance(node, cst.Attribute):
            return node.attr.value in _COUNT_ATTRIBUTES and self._module.value(node.value).kind is Kind.NDARRAY
        return isinstance(node, cst.Name) and self._name(node, operators, depth)

    def _unary(self, node: cst.UnaryOperation, depth: int) -> bool:
        return self._is_proved(node.expression, _INTEGRAL, depth - 1)

    def _call(self, call: cst.Call, operators: tuple[type, ...]) -> bool:
        name = self._module.qualified(call.func)
        if name is not None:
            return name == "builtins.len" or (name == "builtins.int" and operators is _INTEGRAL)
        one = len(call.args) == 1 and isinstance(literal(positional(call, 0)), int)
        return (method(call) in _COUNT_METHODS and not call.args) or (method(call) == "size" and one)

    def _is_dimension(self, node: cst.Subscript) -> bool:
        """Whether an expression is a dimension: ``x.shape[0]``, ``x.size()[0]``."""
        index = node.slice[0].slice if len(node.slice) == 1 else None
        whole = isinstance(index, cst.Index) and isinstance(literal(index.value), int)
        return whole and is_shape(node.value)

    def _name(self, name: cst.Name, operators: tuple[type, ...], depth: int) -> bool:
        bindings = self._module.definitions(name)
        return bool(bindings) and all(self._bound(binding, operators, depth) for binding in bindings)

    def _bound(self, binding: Binding, operators: tuple[type, ...], depth: int) -> bool:
        if binding.kind == "parameter":
            annotation = binding.statement.annotation if isinstance(binding.statement, cst.Param) else None
            return operators is _INTEGRAL and annotation is not None and dotted(annotation.annotation) == "int"
        if binding.kind == "loop":
            return self._is_counter(binding, operators)
        if binding.kind not in ("assign", "walrus") or binding.value is None:
            return False
        if len(binding.path) == 1 and isinstance(binding.path[0], int):
            return is_shape(binding.value)
        return not binding.path and self._is_proved(binding.value, operators, depth - 1)

    def _is_counter(self, binding: Binding, operators: tuple[type, ...]) -> bool:
        """Whether a loop variable is a counter: of ``range(n)``, or the first one of ``enumerate``."""
        iterable = binding.value
        name = self._module.qualified(iterable.func) if isinstance(iterable, cst.Call) else None
        if not isinstance(iterable, cst.Call):
            return False
        if name == "builtins.enumerate":
            return binding.path == ("each", 0) and len(iterable.args) == 1
        upward = operators is _INTEGRAL or len(iterable.args) == 1
        return name == "builtins.range" and binding.path == ("each",) and upward


def is_shape(node: cst.CSTNode) -> bool:
    """Whether an expression is ``x.shape`` or ``x.size()``."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "shape"
    return isinstance(node, cst.Call) and method(node) == "size" and not node.args
