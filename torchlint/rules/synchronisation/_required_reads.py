"""Required reads: values that the host needs to continue, such as actions, tokens, sizes, and checks for NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.knowledge import synchronisation as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_FINITE_CHECKS = frozenset("isnan isinf isfinite is_finite".split())
_TRANSPARENT = (
    cst.Attribute,
    cst.Call,
    cst.Arg,
    cst.Subscript,
    cst.BinaryOperation,
    cst.UnaryOperation,
    cst.IfExp,
    cst.Tuple,
    cst.List,
    cst.Element,
)


_SIZE_ARITHMETIC = (cst.Arg, cst.BinaryOperation, cst.UnaryOperation, cst.Tuple, cst.List, cst.Element)


class RequiredReads:
    """Decides which reads of one module the host needs to continue."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def is_required(self, read: cst.CSTNode, place: cst.CSTNode) -> bool:
        """Whether the host needs the value: as an action or token, as a size, or to decide whether to go on."""
        function = self._module.function_of(read)
        if function is not None:
            name = function.name.value
            if name in known.ACTION_FUNCTIONS or name == "closure":
                return True
        tests = (self._is_tested, self._is_size)
        return self._is_action_read(read) or any(self._value_reaches(read, place, test) for test in tests)

    def _is_action_read(self, read: cst.CSTNode) -> bool:
        """Whether the value is assigned to an action, passed to ``env.step``, or read from an action."""
        for node in descendants(read):
            if isinstance(node, (cst.Name, cst.Attribute)) and self._is_action(node):
                return True
        for around in self._module.ancestors(read):
            if isinstance(around, cst.Call) and method(around) == "step" and self._is_environment(around):
                return True
            if isinstance(around, cst.Assign):
                targets = [n for t in around.targets for n in descendants(t.target)]
                return any(isinstance(n, (cst.Name, cst.Attribute)) and self._is_action(n) for n in targets)
            if isinstance(around, cst.BaseStatement):
                return False
        return False

    def _is_action(self, node: cst.Name | cst.Attribute) -> bool:
        last = (dotted(node) or "").rpartition(".")[2].lower()
        return not known.ACTION_WORDS.isdisjoint(last.split("_"))

    def _is_environment(self, call: cst.Call) -> bool:
        owner = (dotted(call.func) or "").lower().split(".")
        return any(part.startswith("env") for part in owner[:-1])

    def _value_reaches(self, read: cst.CSTNode, place: cst.CSTNode, test: Callable[[cst.CSTNode], bool]) -> bool:
        """Whether a value, or a use of the variable that it is assigned to, satisfies a test."""
        if test(read):
            return True
        below = read
        for around in self._module.ancestors(read):
            if isinstance(around, cst.Assign):
                return around.value is below and any(map(test, self._uses(around, place)))
            if not isinstance(around, _TRANSPARENT):
                return False
            below = around
        return False

    def _is_size(self, node: cst.CSTNode) -> bool:
        """Whether a node is an argument of a function that takes sizes, possibly in arithmetic or a tuple."""
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call):
                name = (dotted(around.func) or method(around) or "").rpartition(".")[2]
                if name not in known.SIZE_CONVERSIONS:
                    return name in known.SIZE_TAKERS
            elif not isinstance(around, _SIZE_ARITHMETIC):
                return False
        return False

    def _uses(self, assign: cst.Assign, place: cst.CSTNode) -> list[cst.Name]:
        target = assign.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self._module.uses(binding) if binding is not None else []
        return [use for use in uses if place in self._module.ancestors(use)]

    def _is_tested(self, node: cst.CSTNode) -> bool:
        """Whether a node is checked for being finite: ``if not math.isfinite(value): raise``."""
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call):
                name = (dotted(around.func) or "").rpartition(".")[2]
                if name in _FINITE_CHECKS:
                    return True
            elif not isinstance(around, _TRANSPARENT):
                return False
        return False
