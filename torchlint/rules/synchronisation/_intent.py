"""Reads that a program needs at once: actions of an agent, tokens, checks that gate the update."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.knowledge import synchronisation as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_GATES = frozenset("isnan isinf isfinite is_finite".split())
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


_SIZES = (cst.Arg, cst.BinaryOperation, cst.UnaryOperation, cst.Tuple, cst.List, cst.Element)


class Intents:
    """Answers for one module whether the host needs what it reads before it can go on."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def needed(self, read: cst.CSTNode, place: cst.CSTNode) -> bool:
        """The value read decides what happens next: it gates the step, or it is an action or a token."""
        function = self._module.function_of(read)
        if function is not None:
            name = function.name.value
            if name in known.ACTION_FUNCTIONS or name == "closure":
                return True
        return self._acts(read) or self._gates(read, place) or self._shapes(read, place)

    def _acts(self, read: cst.CSTNode) -> bool:
        """It is bound to an action, given to ``env.step``, or read from one."""
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

    def _gates(self, read: cst.CSTNode, place: cst.CSTNode) -> bool:
        """The value is tested for being finite: the step goes on only if it is."""
        if self._tested(read):
            return True
        below = read
        for around in self._module.ancestors(read):
            if isinstance(around, cst.Assign):
                return around.value is below and any(self._tested(use) for use in self._uses(around, place))
            if not isinstance(around, _TRANSPARENT):
                return False
            below = around
        return False

    def _shapes(self, read: cst.CSTNode, place: cst.CSTNode) -> bool:
        """The value is a size: ``x.split(lengths.tolist())``, ``torch.zeros(longest)``, ``range(n)``."""
        if self._is_size(read):
            return True
        below = read
        for around in self._module.ancestors(read):
            if isinstance(around, cst.Assign):
                return around.value is below and any(self._is_size(use) for use in self._uses(around, place))
            if not isinstance(around, _TRANSPARENT):
                return False
            below = around
        return False

    def _is_size(self, node: cst.CSTNode) -> bool:
        """An argument of something that takes sizes, through arithmetic and displays."""
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call):
                name = (dotted(around.func) or method(around) or "").rpartition(".")[2]
                if name not in known.SIZE_CONVERSIONS:
                    return name in known.SIZE_TAKERS
            elif not isinstance(around, _SIZES):
                return False
        return False

    def _uses(self, assign: cst.Assign, place: cst.CSTNode) -> list[cst.Name]:
        target = assign.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self._module.uses(binding) if binding is not None else []
        return [use for use in uses if place in self._module.ancestors(use)]

    def _tested(self, node: cst.CSTNode) -> bool:
        """``if not math.isfinite(value): raise``."""
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call):
                name = (dotted(around.func) or "").rpartition(".")[2]
                if name in _GATES:
                    return True
            elif not isinstance(around, _TRANSPARENT):
                return False
        return False
