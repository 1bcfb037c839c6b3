"""Throttling guards: conditions under which code inside a hot loop runs only rarely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.heat.filling import FillingGuards
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.guards import Guard, implied
from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.syntax.walk import descendants
from torchlint.knowledge import synchronization as known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchlint.analysis.code import Code
    from torchlint.analysis.heat.lifetimes import HeatQueries
    from torchlint.analysis.scopes.bindings import Binding
    from torchlint.analysis.values.evaluate import Evaluator
    from torchlint.analysis.values.fixpoint import FixpointMemo

_DEPTH = 4
_FEW = 100  # steps
_EQUAL = (cst.Equal, cst.Is)
_LESS, _GREATER = (cst.LessThan, cst.LessThanEqual), (cst.GreaterThan, cst.GreaterThanEqual)
_UNEQUAL = (cst.NotEqual, cst.IsNot)


class ThrottlingGuards:
    """Decides whether a guard lets code run only rarely."""

    def __init__(self, code: Code, values: Evaluator, heat: HeatQueries, memo: FixpointMemo) -> None:
        self._code, self._values = code, values
        self._filling = FillingGuards(code, values, heat)
        self._memo = memo

    def is_throttling(self, guard: Guard) -> bool:
        """Whether a guard passes only every so many steps, once, when debugging, or after an exception."""
        if guard.kind == "handler":
            return True
        if guard.kind != "test" or guard.condition is None or isinstance(guard.node, (cst.While, cst.Assert)):
            return False
        return self._rarely(guard.condition, guard.holds, _DEPTH) or self._passes_once(guard)

    def _passes_once(self, guard: Guard) -> bool:
        """Whether a guard passes until its code has filled something. Asks how often the code runs that empties it."""
        key = ("filled", guard.node, guard.holds)
        return self._memo.get_or_compute(key, lambda: self._filling.passes_once(guard), False)

    def _rarely(self, test: cst.BaseExpression, holds: bool, depth: int) -> bool:
        """Whether the condition evaluates to ``holds`` only rarely."""
        return depth > 0 and implied(test, holds, lambda part, outcome: self._operand_rarely(part, outcome, depth))

    def _operand_rarely(self, test: cst.BaseExpression, holds: bool, depth: int) -> bool:
        if isinstance(test, cst.BinaryOperation) and isinstance(test.operator, (cst.Modulo, cst.BitAnd)):
            return not holds
        if isinstance(test, cst.Comparison):
            return len(test.comparisons) == 1 and self._compared(test.left, test.comparisons[0], holds)
        if isinstance(test, cst.Call):
            return self._called(test, holds, depth)
        if isinstance(test, (cst.Name, cst.Attribute)):
            return self._named(test, holds, depth)
        return False

    def _compared(self, left: cst.BaseExpression, target: cst.ComparisonTarget, holds: bool) -> bool:
        operator, right = target.operator, target.comparator
        sides = (left, right)
        if any(_is_modulo(n) for side in sides for n in descendants(side)):
            if isinstance(operator, _UNEQUAL):
                return not holds
            return holds is isinstance(operator, (*_EQUAL, cst.LessThan, cst.LessThanEqual, cst.In))
        if any(self._is_clock(n) for side in sides for n in descendants(side)):
            return holds is isinstance(operator, (cst.GreaterThan, cst.GreaterThanEqual))
        if isinstance(operator, (cst.In, cst.NotIn)):
            return holds is isinstance(operator, cst.In) and self._is_counter(left)
        if isinstance(operator, (*_EQUAL, *_UNEQUAL)) and any(map(self._is_infinity, sides)):
            return holds is isinstance(operator, _EQUAL)
        if isinstance(operator, (*_EQUAL, *_UNEQUAL)) and any(self._is_counter(side) for side in sides):
            texts = any(isinstance(literal(side), (str, bool)) or literal(side) is None for side in sides)
            return not texts and holds is isinstance(operator, _EQUAL)
        return self._is_first(left, operator, right, holds)

    def _is_first(
        self, left: cst.BaseExpression, operator: cst.BaseCompOp, right: cst.BaseExpression, holds: bool
    ) -> bool:
        """Only the first few steps: ``i < 3``, ``printed < 5`` where ``printed += 1`` counts, ``not i >= 3``."""
        if isinstance(operator, (*_GREATER, *_LESS)) and isinstance(literal(left), int):
            left, right, greater = right, left, isinstance(operator, _LESS)
        else:
            greater = isinstance(operator, _GREATER)
        few = literal(right)
        ordered = isinstance(operator, (*_GREATER, *_LESS)) and isinstance(few, int) and 0 <= few <= _FEW
        return ordered and holds is not greater and (self._is_counter(left) or self._is_incremented(left))

    def _is_incremented(self, node: cst.BaseExpression) -> bool:
        """Whether a variable starts at a number, and counts: ``printed += 1``."""
        bindings = self._code.definitions(node) if isinstance(node, cst.Name) else ()
        counts = [b.kind == "augment" and isinstance(b.value, cst.Integer) for b in bindings]
        starts = [b.kind == "assign" and isinstance(b.value, cst.Integer) for b in bindings]
        return any(counts) and all(c or s for c, s in zip(counts, starts, strict=True))

    def _is_clock(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._code.qualified(node.func) in known.CLOCKS

    def _is_infinity(self, node: cst.BaseExpression) -> bool:
        """``math.inf`` or ``float("inf")``: a norm or loss equals it only in unusual runs."""
        if isinstance(node, cst.Call) and self._code.qualified(node.func) == "builtins.float" and node.args:
            return literal(node.args[0].value) in known.INFINITIES
        return (dotted(node) or "").rpartition(".")[2] == "inf"

    def _is_counter(self, node: cst.BaseExpression) -> bool:
        """A loop counter: ``i``, ``self.global_step``, ``(i + 1)``."""
        if isinstance(node, cst.BinaryOperation):
            return self._is_counter(node.left)
        return (dotted(node) or "").rpartition(".")[2].lower() in known.COUNTERS

    def _called(self, call: cst.Call, holds: bool, depth: int) -> bool:
        name = (dotted(call.func) or "").rpartition(".")[2].lower()
        if name in ("any", "bool", "all") and call.args:
            return self._rarely(call.args[0].value, holds, depth - 1)
        if name in known.FREQUENT_CALLS:
            return not holds
        if name in ("any", "all", "item") and isinstance(call.func, cst.Attribute):
            return self._rarely(call.func.value, holds, depth - 1)
        definition = self._values.value(call.func).node
        if isinstance(definition, cst.FunctionDef):
            returns = [r.value for r in self._values.functions.body(definition).returns]
            if returns and all(r is not None and self._rarely(r, holds, depth - 1) for r in returns):
                return True
        return holds and (name in known.SELDOM_CALLS or _by_words(name))

    def _named(self, node: cst.BaseExpression, holds: bool, depth: int) -> bool:
        """A variable is rarely true if everything assigned to it is, or if its name says so."""
        if literal(node) is (not holds):
            return True
        if isinstance(node, cst.Name):
            values = [value for binding in self._code.definitions(node) for value in self._given(binding)]
            if values and all(v is not None and self._rarely(v, holds, depth - 1) for v in values):
                return True
        return holds and _by_words((dotted(node) or "").rpartition(".")[2].lower())

    def _given(self, binding: Binding) -> Sequence[cst.BaseExpression | None]:
        """What a variable gets: the assigned value, or the arguments of all calls; a None stands for the unknown."""
        if binding.kind != "parameter":
            return [binding.value] if binding.value is not None and not binding.path else []
        return self._values.parameters.all_arguments(binding) or [None]


def _is_modulo(node: cst.CSTNode) -> bool:
    """``step % n``, but not string formatting."""
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and not isinstance(node.left, (cst.SimpleString, cst.ConcatenatedString))
    )


def _by_words(name: str) -> bool:
    words = name.strip("_").split("_")
    return not known.SELDOM_WORDS.isdisjoint(words) or any(phrase in name for phrase in known.SELDOM_PHRASES)


def excludes_training(guard: Guard) -> bool:
    """``not self.training``, also as a part of a condition."""
    if guard.kind != "test" or guard.condition is None:
        return False
    return implied(guard.condition, guard.holds, _is_evaluation)


def _is_evaluation(test: cst.BaseExpression, holds: bool) -> bool:
    return not holds and isinstance(test, cst.Attribute) and test.attr.value == "training"
