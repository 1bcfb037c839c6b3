"""Conditions: expressions whose truth value the host needs, where they are tensors on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

ConditionKind = Literal["if", "while", "assert", "boolean", "any", "max", "range"]
_TESTS: tuple[tuple[type[cst.CSTNode], ConditionKind], ...] = (
    (cst.If, "if"),
    (cst.IfExp, "if"),
    (cst.While, "while"),
    (cst.Assert, "assert"),
    (cst.CompIf, "if"),
)
_BUILTINS: dict[str, ConditionKind] = {
    "builtins.any": "any",
    "builtins.all": "any",
    "builtins.max": "max",
    "builtins.min": "max",
    "builtins.range": "range",
}
_NAMES = frozenset(name.rpartition(".")[2] for name in _BUILTINS)


class Condition(NamedTuple):
    """A tensor on an accelerator whose truth value, order or size the host reads.

    ``node`` is the tensor, or the call of a builtin that reads its arguments; ``kind`` tells what reads it.
    """

    node: cst.BaseExpression
    kind: ConditionKind


class Conditions:
    """Finds such conditions in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def all(self) -> list[Condition]:
        """The conditions of the file; none in a file that puts nothing on an accelerator."""
        if not self._module.device_evidence.any_on_accelerator:
            return []
        found: dict[cst.CSTNode, Condition] = {}
        for condition in self._candidates():
            if condition.node not in found and self._reads(condition):
                found[condition.node] = condition
        return sorted(found.values(), key=lambda condition: self._module.order(condition.node))

    def _candidates(self) -> Iterator[Condition]:
        for node_type, kind in _TESTS:
            for node in self._module.nodes_of(node_type):
                for leaf in _leaves(node.test):  # type: ignore[attr-defined]
                    yield Condition(leaf, kind)
        for operation in self._module.nodes_of(cst.BooleanOperation):
            yield from (Condition(leaf, "boolean") for leaf in _leaves(operation.left))
        for negation in self._module.nodes_of(cst.UnaryOperation):
            if isinstance(negation.operator, cst.Not):
                yield from (Condition(leaf, "boolean") for leaf in _leaves(negation.expression))
        for call in self._module.nodes_of(cst.Call, _NAMES):
            kind_of_call = _BUILTINS.get(self._module.qualified(call.func) or "")
            if kind_of_call is not None and call.args:
                yield Condition(call, kind_of_call)

    def _reads(self, condition: Condition) -> bool:
        """Whether the host reads a tensor on the device here."""
        node = condition.node
        if condition.kind not in ("any", "max", "range"):
            return self._is_on_device(node)
        assert isinstance(node, cst.Call)
        arguments = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        if condition.kind == "range" or len(arguments) > 1:
            return any(map(self._is_on_device, arguments))
        member = self._module.evaluator.iterated_value(arguments[0]) if arguments else None
        return member is not None and member.kind is Kind.TENSOR and member.accelerated

    def _is_on_device(self, node: cst.BaseExpression) -> bool:
        value = self._module.value(node)
        return value.kind is Kind.TENSOR and value.accelerated


def _leaves(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The expressions that ``and``, ``or`` and ``not`` combine."""
    if isinstance(test, cst.BooleanOperation):
        yield from _leaves(test.left)
        yield from _leaves(test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from _leaves(test.expression)
    else:
        yield test
