"""The terms of losses: what a function returns as the loss, and the losses that are added up to one.

A sum is on one device, so each term of a sum on which ``backward`` is called is on the device of the sum. Plain numbers
are terms as well: a term counts only if it is computed, and named like a loss. It relies on names, without evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import method, receiver

if TYPE_CHECKING:
    from torchlint.analysis.code import Code
    from torchlint.analysis.values.functions import Functions

_SUMS = (cst.Add, cst.Subtract)
_REDUCTIONS = frozenset({"mean", "sum"})
_WEIGHT_WORDS = frozenset(
    "weight weights coef coeff coefficient lambda scale factor ratio fn func function type name w".split()
)


class LossTerms:
    """The terms of the losses of one file.

    ``bindings`` are the assignments of variables that are such terms, or that a function of the file returns as the
    loss; ``functions`` are these functions.
    """

    def __init__(self, code: Code, functions: Functions, losses: Iterable[cst.Name]) -> None:
        self._code, self._functions = code, functions
        self._seen: set[Binding] = set()
        self.bindings: set[Binding] = set()
        self.functions: set[cst.FunctionDef] = set()
        for loss in losses:
            self._follow(loss)

    def _follow(self, loss: cst.Name) -> None:
        """Collect the terms of a variable that is a loss."""
        for binding in self._code.definitions(loss):
            if binding in self._seen or binding.kind not in ("assign", "augment") or binding.value is None:
                continue
            self._seen.add(binding)
            for expression in self._computed(binding):
                self._collect(expression)

    def _computed(self, binding: Binding) -> Iterator[cst.BaseExpression]:
        """The expressions that compute what is assigned: that on the right, and what the function it calls returns."""
        value, path = binding.value, binding.path
        assert value is not None
        if not path:
            yield value
        if not isinstance(value, cst.Call) or len(path) > 1:
            return
        for result in self._returned(value):
            part = result if not path else _element(result, path[0])
            if isinstance(part, cst.Name):
                self.bindings.update(b for b in self._code.definitions(part) if b.kind == "assign")
                self._follow(part)
            elif part is not None:
                self._collect(part)

    def _collect(self, node: cst.BaseExpression) -> None:
        for term in terms(node):
            computed = [b for b in self._code.definitions(term) if _is_computed(b)]
            if computed and _is_loss_name(term.value):
                self.bindings.update(computed)
                self._follow(term)

    def _returned(self, call: cst.Call) -> Iterator[cst.BaseExpression]:
        """What the function of the file that a call names may return."""
        function = self._callee(call)
        if function is not None:
            self.functions.add(function)
        for result in self._functions.body(function).returns if function is not None else ():
            if result.value is not None:
                yield result.value

    def _callee(self, call: cst.Call) -> cst.FunctionDef | None:
        if isinstance(call.func, cst.Name):
            made = [b.statement for b in self._code.definitions(call.func)]
            return made[0] if len(made) == 1 and isinstance(made[0], cst.FunctionDef) else None
        owner = self._code.class_of(call) if dotted(receiver(call)) == "self" else None
        own = owner.body.body if owner is not None else ()
        return next((f for f in own if isinstance(f, cst.FunctionDef) and f.name.value == method(call)), None)


def terms(node: cst.BaseExpression) -> Iterator[cst.Name]:
    """The variables that are added up in an expression, each perhaps multiplied by a weight."""
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, (*_SUMS, cst.Multiply, cst.Divide)):
            yield from terms(node.left)
        if isinstance(node.operator, (*_SUMS, cst.Multiply)):
            yield from terms(node.right)
    elif isinstance(node, cst.Call) and method(node) in _REDUCTIONS and not node.args:
        inner = receiver(node)
        if isinstance(inner, cst.BinaryOperation):
            yield from terms(inner)


def _is_computed(binding: Binding) -> bool:
    """Whether a call or an operation gives the value, rather than a setting."""
    return binding.kind == "assign" and isinstance(binding.value, (cst.Call, cst.BinaryOperation))


def _is_loss_name(name: str) -> bool:
    words = name.lower().strip("_").split("_")
    return _WEIGHT_WORDS.isdisjoint(words) and any(word.startswith("loss") or word.endswith("loss") for word in words)


def _element(result: cst.BaseExpression, index: int | str) -> cst.BaseExpression | None:
    if not isinstance(result, cst.Tuple) or not isinstance(index, int) or index >= len(result.elements):
        return None
    element = result.elements[index]
    return element.value if isinstance(element, cst.Element) else None
