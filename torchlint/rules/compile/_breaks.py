"""Expressions at which a graph that ``torch.compile`` records ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import keyword, method, positional, receiver
from torchlint.analysis.syntax.walk import wording
from torchlint.analysis.things.traced import TracedCode
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import compilation as known
from torchlint.knowledge.synchronization import LOGGER_WORDS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_COMPARING = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)
_OTHER_KINDS = (Kind.UNKNOWN, Kind.TENSOR, Kind.NDARRAY)


class Breaks:
    """Finds such expressions in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._code = module.shared(TracedCode)

    def of(self, function: cst.FunctionDef) -> Iterator[tuple[cst.BaseExpression, known.Break]]:
        """Those that are evaluated whenever a traced function is called, and why they end its graph."""
        text = self._module.text.lower()  # settings have environment variables of the same names
        for node, why in self._in_function(function):
            if self._code.always(node, function) and not any(setting in text for setting in why.unless):
                yield node, why

    def _in_function(self, function: cst.FunctionDef) -> Iterator[tuple[cst.BaseExpression, known.Break]]:
        for call in self._module.within(function, cst.Call):
            why = self._of_call(call)
            if why is not None:
                yield call, why
        for test in self._tests(function):
            yield from ((leaf, known.BRANCH) for leaf in _leaves(test) if self._is_computed(leaf))
        for subscript in self._module.within(function, cst.Subscript):
            if self._selects(subscript):
                yield subscript, known.SHAPE

    def _tests(self, function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
        """The conditions in a function; those of ``assert`` are recorded."""
        yield from (choice.test for choice in self._module.within(function, cst.If))
        yield from (choice.test for choice in self._module.within(function, cst.IfExp))
        yield from (loop.test for loop in self._module.within(function, cst.While))

    def _of_call(self, call: cst.Call) -> known.Break | None:
        name = self._module.qualified(call.func)
        if name is not None:
            return self._of_function(call, name)
        verb = method(call)
        source = receiver(call)
        if verb is None or source is None:
            return None
        if verb in known.METHODS:
            takes_none = verb in ("item", "tolist") and bool(call.args)
            return known.METHODS[verb] if self._module.value(source).kind in _OTHER_KINDS and not takes_none else None
        return known.OUTPUT if verb in known.LOG_METHODS and self._is_logger(source) else None

    def _of_function(self, call: cst.Call, name: str) -> known.Break | None:
        first = positional(call, 0)
        if name in known.CONVERSIONS:
            return known.READ if first is not None and self._is_computed(first) else None
        if name == "torch.where":
            return known.SHAPE if len(call.args) == 1 else None
        if name == "torch.nn.functional.one_hot":
            unknown = len(call.args) == 1 and keyword(call, "num_classes") is None
            return known.CLASSES if unknown else None
        return known.FUNCTIONS.get(name)

    def _is_logger(self, node: cst.BaseExpression) -> bool:
        """``logger``, if it was made by ``logging.getLogger`` or is named like one."""
        made = self._module.definitions(node) if isinstance(node, cst.Name) else ()
        if len(made) == 1 and isinstance(made[0].value, cst.Call):
            return self._module.qualified(made[0].value.func) == known.LOGGER
        return (dotted(node) or "").rpartition(".")[2].lower() in LOGGER_WORDS

    def _is_computed(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a tensor whose content is needed: by its value, or by what only tensors can do."""
        if isinstance(node, cst.Comparison):
            return _is_ordered(node) and any(map(self._is_computed, _operands(node)))
        value = self._module.value(node)
        if value.kind is not Kind.UNKNOWN:
            return value.kind is Kind.TENSOR
        if isinstance(node, cst.Call) and method(node) in known.REDUCTIONS:
            return self._module.qualified(node.func) is None and self._may_be_tensor(receiver(node))
        return False

    def _may_be_tensor(self, node: cst.BaseExpression | None) -> bool:
        """Whether an expression with a method of tensors is none of the few other objects that have such a method."""
        return self._module.value(node).kind in _OTHER_KINDS

    def _selects(self, node: cst.Subscript) -> bool:
        """Whether a subscript reads the elements where a comparison of tensors holds: ``x[x > 0]``."""
        parent = self._module.parent(node)
        if isinstance(parent, (cst.AssignTarget, cst.AnnAssign, cst.Del)):
            return False
        indices = (element.slice.value for element in node.slice if isinstance(element.slice, cst.Index))
        known = self._module.value(node.value).kind in _OTHER_KINDS
        return known and any(self._is_mask(index, wording(node.value)) for index in indices)

    def _is_mask(self, node: cst.BaseExpression, selected: str) -> bool:
        """Whether an index is a comparison of tensors, or of what is indexed."""
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.BitInvert):
            return self._is_mask(node.expression, selected)
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
            return isinstance(value, (cst.Comparison, cst.UnaryOperation)) and self._is_mask(value, selected)
        if not isinstance(node, cst.Comparison):
            return False
        return self._is_computed(node) or (_is_ordered(node) and selected in map(wording, _operands(node)))


def _is_ordered(node: cst.Comparison) -> bool:
    """Whether a comparison is one of values; ``x == None`` is recorded."""
    none = any(isinstance(side, cst.Name) and side.value == "None" for side in _operands(node))
    return not none and all(isinstance(c.operator, _COMPARING) for c in node.comparisons)


def _operands(node: cst.Comparison) -> list[cst.BaseExpression]:
    return [node.left, *(c.comparator for c in node.comparisons)]


def _leaves(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The expressions that ``and``, ``or`` and ``not`` combine."""
    if isinstance(test, cst.BooleanOperation):
        yield from _leaves(test.left)
        yield from _leaves(test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from _leaves(test.expression)
    else:
        yield test
