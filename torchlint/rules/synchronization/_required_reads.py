"""Required reads: values that the host needs to continue, such as actions, tokens, sizes, and checks for NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.catalogue.views import SIZE_TAKERS
from torchlint.knowledge import synchronization as known
from torchlint.rules.synchronization._destinations import uses_of

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
        self._passed: dict[cst.CSTNode, set[str | None]] = {}

    def is_required(self, read: cst.CSTNode, place: cst.CSTNode) -> bool:
        """Whether the host needs the value: as an action or token, or as a size."""
        function = self._module.function_of(read)
        if function is not None and self._acts(function):
            return True
        if any(self._is_action(node) for node in descendants(read)):
            return True
        return any(self._value_reaches(read, place, test) for test in (self._is_size, self._is_acted_on))

    def checks_finiteness(self, read: cst.CSTNode, place: cst.CSTNode) -> bool:
        """Whether the step goes on only if the value is finite: ``if not math.isfinite(value): raise``."""
        return self._value_reaches(read, place, self._is_tested)

    # -- actions and tokens ----------------------------------------------------------------------

    def _acts(self, function: cst.FunctionDef) -> bool:
        """Whether a function returns actions, takes one as an environment does, or is the closure of an optimizer."""
        if function.name.value in known.ACTION_FUNCTIONS or function.name.value == "closure":
            return True
        return any(self._is_action(param.name) for param in function.params.params)

    def _is_action(self, node: cst.CSTNode) -> bool:
        """Whether a variable is named as what an agent does or a model generates: ``action``, ``self.next_token``."""
        last = (dotted(node) or "").rpartition(".")[2] if isinstance(node, (cst.Name, cst.Attribute)) else ""
        return last.lower() in known.ACTIONS

    def _is_acted_on(self, node: cst.CSTNode) -> bool:
        """Whether a value reaches ``env.step(..)``, is bound to an action, ends a loop, or feeds the next iteration."""
        below = node
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call) and below is not around.func:
                if method(around) == "step" and not self._module.heat_analysis.is_step_call(around):
                    return True
                if method(around) == "append" and self._is_fed_back(around):
                    return True
            if isinstance(around, cst.Comparison) and self._ends_loop(around):
                return True
            if isinstance(around, cst.Assign):
                return any(self._is_action(target.target) for target in around.targets)
            if isinstance(around, cst.BaseStatement):
                return False
            below = around
        return False

    def _ends_loop(self, comparison: cst.Comparison) -> bool:
        """``if token == end: break`` or ``while error > limit``: a comparison decides whether the loop goes on."""
        whiles = (around for around in self._module.ancestors(comparison) if isinstance(around, cst.While))
        if any(comparison in descendants(loop.test) for loop in whiles):
            return True
        equality = all(isinstance(c.operator, (cst.Equal, cst.In)) for c in comparison.comparisons)
        branch = next((a for a in self._module.ancestors(comparison) if isinstance(a, cst.If)), None)
        leaves = branch is not None and any(isinstance(n, cst.Break) for n in descendants(branch.body))
        return equality and leaves

    def _is_fed_back(self, append: cst.Call) -> bool:
        """``tokens.append(next.item())`` in a loop that passes ``tokens`` to a call: the next iteration needs it.

        A loop that trains feeds its model with batches; what it collects, it logs.
        """
        loops, _ = self._module.heat_analysis.enclosing_loops(append)
        name = dotted(receiver(append))
        if not loops or name is None or self._module.heat_analysis.trains(loops[0]):
            return False
        return name in self._passed_in(loops[0])

    def _passed_in(self, loop: cst.CSTNode) -> set[str | None]:
        """The names of the variables in arguments of calls in a loop, other than ``append``."""
        if loop not in self._passed:
            calls = (node for node in descendants(loop) if isinstance(node, cst.Call) and method(node) != "append")
            parts = (part for call in calls for arg in call.args for part in descendants(arg.value))
            self._passed[loop] = {dotted(part) for part in parts if isinstance(part, (cst.Name, cst.Attribute))}
        return self._passed[loop]

    # -- where values go -------------------------------------------------------------------------

    def _value_reaches(self, read: cst.CSTNode, place: cst.CSTNode, test: Callable[[cst.CSTNode], bool]) -> bool:
        """Whether a value, or a use of the variable that it is assigned to, satisfies a test."""
        return test(read) or any(map(test, self._assigned_uses(read, place)))

    def _assigned_uses(self, read: cst.CSTNode, place: cst.CSTNode) -> list[cst.Name]:
        """The uses, in the same step, of the variable that a value is assigned to."""
        below = read
        for around in self._module.ancestors(read):
            if isinstance(around, cst.Assign):
                return self._uses(around, place) if around.value is below else []
            if not isinstance(around, _TRANSPARENT):
                return []
            below = around
        return []

    def _is_size(self, node: cst.CSTNode) -> bool:
        """Whether a node is an argument of a function that takes sizes, possibly in arithmetic or a tuple."""
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call):
                name = (dotted(around.func) or method(around) or "").rpartition(".")[2]
                if name not in known.SIZE_CONVERSIONS:
                    return name in SIZE_TAKERS
            elif not isinstance(around, _SIZE_ARITHMETIC):
                return False
        return False

    def _uses(self, assign: cst.Assign, place: cst.CSTNode) -> list[cst.Name]:
        uses = uses_of(self._module, assign.targets[0].target)
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
