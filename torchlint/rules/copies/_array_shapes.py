"""Array shapes: whether the elements of a list certainly have the same shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, literal
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import arrays as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 8
_WITH_SHAPE = frozenset({"numpy.zeros", "numpy.ones", "numpy.full", "numpy.empty"})
_WITH_SIZES = frozenset({"numpy.random.rand", "numpy.random.randn"})
# Elementwise functions whose result may have another shape than their only argument.
_OF_OTHER_SHAPE = frozenset({"diff", "cumsum", "cumprod", "gradient", "where"})
Shape = tuple[object, ...]


class ArrayShapes:
    """Compares the shapes of arrays in one module.

    A shape is a tuple of literal sizes.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def has_equal_shapes(self, data: cst.BaseExpression) -> bool:
        """Whether a list has members, which are arrays of the same shape with at least one dimension and element."""
        if isinstance(data, (cst.List, cst.Tuple)):
            shapes = {self._of(element.value, _DEPTH) for element in data.elements}
            starred = any(isinstance(element, cst.StarredElement) for element in data.elements)
            alone = len(data.elements) == 1
            equal = not starred and (alone or (len(shapes) == 1 and None not in shapes))
            return equal and self._has_elements(data.elements[0].value)
        if not isinstance(data, cst.ListComp) or data.for_in.ifs or data.for_in.inner_for_in is not None:
            return False
        if not self._has_members(data.for_in.iter):
            return False
        return self._has_elements(data.elt)

    def _has_elements(self, node: cst.BaseExpression) -> bool:
        """Whether an array has dimensions, and elements.

        torch rejects lists of arrays without dimensions. It ignores the dimensions after one of size 0, and gives the
        result other strides.
        """
        shape = self._of(node, _DEPTH)
        return bool(shape) and all(isinstance(size, int) and size > 0 for size in shape or ())

    def _has_members(self, iterable: cst.BaseExpression) -> bool:
        if isinstance(iterable, (cst.List, cst.Tuple)):
            return any(not isinstance(e, cst.StarredElement) for e in iterable.elements)
        called = self._module.qualified(iterable.func) if isinstance(iterable, cst.Call) else None
        if called != "builtins.range" or not isinstance(iterable, cst.Call) or len(iterable.args) != 1:
            return False
        count = literal(iterable.args[0].value)
        return isinstance(count, int) and count > 0

    def _of(self, node: cst.BaseExpression, depth: int) -> Shape | None:
        if depth == 0:
            return None
        if isinstance(node, cst.Call):
            return self._of_call(node, depth)
        if isinstance(node, (cst.List, cst.Tuple)):
            return self._of_sequence(node, depth)
        if isinstance(node, cst.BinaryOperation):
            return self._of_operation(node, depth)
        if isinstance(node, cst.UnaryOperation):
            return self._of(node.expression, depth - 1)
        if not isinstance(node, cst.Name):
            return None
        bindings = self._module.definitions(node)
        if len(bindings) != 1:
            return None
        binding = bindings[0]
        if binding.kind == "assign" and not binding.path and binding.value is not None:
            return self._of(binding.value, depth - 1)
        return None

    def _of_sequence(self, node: cst.List | cst.Tuple, depth: int) -> Shape | None:
        """The shape of a list whose elements have the same shape."""
        shapes = {self._of(element.value, depth - 1) for element in node.elements}
        starred = any(isinstance(element, cst.StarredElement) for element in node.elements)
        shape = shapes.pop() if len(shapes) == 1 and not starred else None
        return (len(node.elements), *shape) if shape is not None else None

    def _of_call(self, call: cst.Call, depth: int) -> Shape | None:
        name = str(self._module.qualified(call.func))
        if name in _WITH_SHAPE:
            return _literal_shape(argument(call, "shape", 0))
        if name in _WITH_SIZES:
            sizes = tuple(literal(arg.value) for arg in call.args)
            return sizes if sizes and all(isinstance(size, int) for size in sizes) else None
        if name == "numpy.array" and call.args:
            return _nested_shape(call.args[0].value)
        last = name.removeprefix("numpy.")
        if last != name and last in known.ELEMENTWISE - _OF_OTHER_SHAPE and len(call.args) == 1:
            return self._of(call.args[0].value, depth - 1)
        return None

    def _of_operation(self, node: cst.BinaryOperation, depth: int) -> Shape | None:
        """The shape of an operation on an array and a number."""
        left, right = self._module.value(node.left), self._module.value(node.right)
        if left.kind is Kind.NDARRAY and right.kind is Kind.SCALAR:
            return self._of(node.left, depth - 1)
        if right.kind is Kind.NDARRAY and left.kind is Kind.SCALAR:
            return self._of(node.right, depth - 1)
        return None


def _literal_shape(node: cst.BaseExpression | None) -> Shape | None:
    if isinstance(node, (cst.Tuple, cst.List)):
        sizes = tuple(literal(e.value) for e in node.elements if not isinstance(e, cst.StarredElement))
        whole = len(sizes) == len(node.elements) and all(isinstance(size, int) for size in sizes)
        return sizes if whole and sizes else None
    size = literal(node)
    return (size,) if isinstance(size, int) else None


def _nested_shape(node: cst.BaseExpression) -> Shape | None:
    """The shape of a nested list of numbers."""
    if not isinstance(node, (cst.List, cst.Tuple)) or not node.elements:
        return None
    if any(isinstance(e, cst.StarredElement) for e in node.elements):
        return None
    if all(isinstance(literal(e.value), (int, float)) for e in node.elements):
        return (len(node.elements),)
    inner = {_nested_shape(e.value) for e in node.elements}
    shape = inner.pop()
    return (len(node.elements), *shape) if not inner and shape is not None else None
