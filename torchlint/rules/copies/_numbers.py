"""Python numbers: which expressions are numbers, and which of them are the same in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import literal, method, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Kind, Value
from torchlint.catalogue.views import READING
from torchlint.knowledge.arrays import CONSTANTS
from torchlint.knowledge.factories import NUMBER_FUNCTIONS, NUMBER_LIMITS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH, _DEEP = 8, 12
_COUNT_METHODS = frozenset("numel dim ndimension nelement".split())
_COUNT_ATTRIBUTES = frozenset("ndim size".split())
_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)
_MAX_SOURCES = 100
_CONVERSIONS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})


class Numbers:
    """Proves properties of numbers in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def is_number(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is certainly a Python number, and not read from a tensor."""
        return self._is_proved(node, _DEPTH) and not self.reads(node)

    def is_numbers(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is certainly a list or tuple of such numbers, or of lists of them; not an empty one."""
        if isinstance(node, (cst.List, cst.Tuple)):
            members = [element.value for element in node.elements]
            whole = not any(isinstance(element, cst.StarredElement) for element in node.elements)
            return whole and bool(members) and all(self.is_number(m) or self.is_numbers(m) for m in members)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):  # `[w, h] * 2`
            return self.is_numbers(node.left) and isinstance(literal(node.right), int)
        return _lists_numbers(self._module.value(node)) and not self.reads(node)

    def _is_proved(self, node: cst.BaseExpression, depth: int) -> bool:
        if depth == 0:
            return False
        if self._module.value(node).kind is Kind.SCALAR or self._is_integer(node):
            return True
        if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation)):
            return all(self._is_proved(side, depth - 1) for side in (node.left, node.right))
        if isinstance(node, cst.UnaryOperation):
            return self._is_proved(node.expression, depth - 1)
        if isinstance(node, cst.IfExp):
            return all(self._is_proved(side, depth - 1) for side in (node.body, node.orelse))
        if isinstance(node, cst.Attribute):  # `torch.finfo(dtype).min`
            made = node.value
            return isinstance(made, cst.Call) and self._module.qualified(made.func) in NUMBER_LIMITS
        if isinstance(node, cst.Call):
            given = [arg.value for arg in node.args]
            name = self._module.qualified(node.func)
            if name == "builtins.sum" and len(given) == 1 and isinstance(given[0], (cst.GeneratorExp, cst.ListComp)):
                given = [given[0].elt]
            elif name not in NUMBER_FUNCTIONS:
                return False
            return all(self._is_proved(value, depth - 1) for value in given)
        values = self._values(node)
        return bool(values) and all(value is not None and self._is_proved(value, depth - 1) for value in values)

    def reads(self, node: cst.BaseExpression) -> bool:
        """Whether an expression copies a tensor to the host: that is what costs, and other rules report it.

        Variables are followed. An expression that depends on very many others counts as reading.
        """
        todo, seen = [node], {node}
        while todo and len(seen) < _MAX_SOURCES:
            for part in descendants(todo.pop()):
                if isinstance(part, cst.Call) and self._is_read(part):
                    return True
                values = self._values(part) if isinstance(part, cst.Name) else ()
                more = {value for value in values if value is not None} - seen
                todo += more
                seen |= more
        return bool(todo)

    def is_constant(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether a number is the same in every step: literals, names of the module, attributes set at the start."""
        if depth == 0:
            return False
        if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation)):
            return all(self.is_constant(side, depth - 1) for side in (node.left, node.right))
        if isinstance(node, cst.UnaryOperation):
            return self.is_constant(node.expression, depth - 1)
        if isinstance(node, (cst.List, cst.Tuple)):
            return all(self.is_constant(element.value, depth - 1) for element in node.elements)
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            return literal(node) is not ... or (bool(bindings) and all(map(self._is_global, bindings)))
        if isinstance(node, cst.Attribute):
            return self._module.qualified(node) in CONSTANTS or self._is_set_at_start(node)
        return literal(node) is not ...

    # -- integers ----------------------------------------------------------------------------------

    def _is_integer(self, node: cst.BaseExpression, depth: int = _DEEP) -> bool:
        """Whether an expression is an ``int``; ``True`` and ``False`` do not count."""
        if depth == 0:
            return False
        constant = literal(node)
        if constant is not ...:
            return isinstance(constant, int) and not isinstance(constant, bool)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            return isinstance(node.operator, _OPERATORS) and all(self._is_integer(side, depth - 1) for side in sides)
        if isinstance(node, cst.UnaryOperation):
            return isinstance(node.operator, cst.Minus) and self._is_integer(node.expression, depth - 1)
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
        return not binding.path and self._is_integer(binding.value, depth - 1)

    def _is_counter(self, binding: Binding) -> bool:
        """Whether a loop variable is a counter: of ``range(n)``, or the first one of ``enumerate``."""
        iterable = binding.value
        name = self._module.qualified(iterable.func) if isinstance(iterable, cst.Call) else None
        if isinstance(iterable, cst.Call) and name == "builtins.enumerate":
            return binding.path == ("each", 0) and len(iterable.args) == 1
        return name == "builtins.range" and binding.path == ("each",)

    # -- where numbers come from -------------------------------------------------------------------

    def _is_read(self, call: cst.Call) -> bool:
        """``x.item()``, ``float(x)`` of a tensor."""
        if method(call) in READING:
            return True
        given = self._module.value(positional(call, 0))
        converts = self._module.qualified(call.func) in _CONVERSIONS
        return converts and (given.kind is Kind.TENSOR or given.located)

    def _values(self, node: cst.CSTNode) -> list[cst.BaseExpression | None]:
        """The expressions assigned to a variable; None for one that is not known."""
        return [_given(b) for b in self._module.definitions(node)] if isinstance(node, cst.Name) else []

    def _is_global(self, binding: Binding) -> bool:
        return binding.kind == "assign" and self._module.function_of(binding.node) is None

    def _is_set_at_start(self, node: cst.Attribute) -> bool:
        """Whether ``self.sizes`` is only assigned in the constructor and in the body of the class."""
        owner = self._module.class_of(node)
        if owner is None or not isinstance(node.value, cst.Name) or node.value.value != "self":
            return False
        functions = [
            self._module.function_of(value) for value, _ in self._module.classes.assignments(owner, node.attr.value)
        ]
        return bool(functions) and all(f is None or f.name.value == "__init__" for f in functions)


def _lists_numbers(value: Value) -> bool:
    members = value.elements if value.elements is not None else (value.element,)
    if value.kind not in (Kind.LIST, Kind.TUPLE) or not members:
        return False
    return all(m is not None and (m.kind is Kind.SCALAR or _lists_numbers(m)) for m in members)


def _given(binding: Binding) -> cst.BaseExpression | None:
    return binding.value if binding.kind in ("assign", "walrus") and not binding.path else None


def _is_shape(node: cst.CSTNode) -> bool:
    """Whether an expression is ``x.shape`` or ``x.size()``."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "shape"
    return isinstance(node, cst.Call) and method(node) == "size" and not node.args
