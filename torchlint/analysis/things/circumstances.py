"""Circumstances: why code of a step hardly matters in a normal run of the program."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.scopes.guards import Guard, implied
from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.syntax.walk import descendants, wording
from torchlint.analysis.things.options import Options
from torchlint.analysis.values.semantics.devices import is_device_name
from torchlint.model import Heat
from torchlint.program.world import otherwise
from torchlint.project.followed import ASSUMED as ASSUMED_STEP
from torchlint.project.followed import NO_TRAINING, ONE_LENGTH

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

ASSUMED = "in programs that call this"
_EVALUATION = "only in evaluation"
_DEPTH = 3  # callers of callers
_LEAST = 2  # items of a batch
_COMPARISONS: dict[type, Callable[[Any, Any], object]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.Is: operator.is_,
    cst.IsNot: operator.is_not,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
}


class Circumstances:
    """Why the code of one module that runs in every step hardly matters: it is off by default, evaluates, or is dead.

    An option that a program has for its whole work, such as ``--train``, is not meant: only conditions inside a step
    count, which switch on something that the step does besides.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._options = module.shared(Options)

    def of(self, node: cst.CSTNode) -> str | None:
        """The circumstance in words, such as ``only with `--debug```; None for code that a normal run executes."""
        return self.off(node) or self._evaluation(node)

    def off(self, node: cst.CSTNode) -> str | None:
        """Why a normal run does not get to code of a step at all."""
        function = self._module.function_of(node)
        if function is not None and not self._module.followed.is_reached(function):
            return ASSUMED
        unusual = self._module.followed.unusual(node)
        if unusual is not None or self._module.heat(node).rank < Heat.STEP.rank:
            return unusual
        found = self._switched_on(node) or self._unused(node)
        return found or (ASSUMED if self._is_assumed(node) else None)

    def _is_assumed(self, node: cst.CSTNode) -> bool:
        """Whether nothing but an assumption says that the function around a node runs in every step."""
        return self._module.followed.often(node).by == ASSUMED_STEP

    def _evaluation(self, node: cst.CSTNode) -> str | None:
        return _EVALUATION if self._module.followed.often(node).phase in NO_TRAINING else None

    # -- options that are off ----------------------------------------------------------------------

    def _switched_on(self, node: cst.CSTNode, depth: int = _DEPTH) -> str | None:
        """The option without which a node is not reached in a step."""
        place = self._module.heat_analysis.enclosing_step(node)
        guards = [g for g in self._module.guards(node, stop=place) if g.kind == "test" and g.condition is not None]
        if any(self._is_of_length(guard) for guard in guards):
            return f"only {ONE_LENGTH}"
        found = next((name for guard in guards if (name := self._option(guard)) is not None), None)
        if found is not None:
            return f"only {found}"
        if not isinstance(place, cst.FunctionDef) or depth == 0:
            return None
        callers = self._module.functions.callers(place)
        reasons = [self._switched_on(site.call, depth - 1) for site in callers.sites]
        return reasons[0] if reasons and not callers.escapes and None not in reasons else None

    def _is_of_length(self, guard: Guard) -> bool:
        """Whether the number of items of a batch chooses a mode, ``if len(batch) == 15``, and which is not known."""
        test = guard.condition
        called = test.left if isinstance(test, cst.Comparison) else None
        if not isinstance(test, cst.Comparison) or not isinstance(called, cst.Call) or len(called.args) != 1:
            return False
        target, batch = test.comparisons[0], called.args[0].value
        number = literal(target.comparator)
        if self._module.qualified(called.func) != "builtins.len" or not isinstance(number, int) or number < _LEAST:
            return False
        function = self._module.function_of(test)
        bindings = self._module.definitions(batch) if isinstance(batch, cst.Name) else ()
        given = bool(bindings) and all(binding.kind in ("parameter", "loop") for binding in bindings)
        known = function is not None and self._module.followed.reaches(function)
        return given and not known and isinstance(target.operator, (cst.Equal, cst.NotEqual))

    def _option(self, guard: Guard) -> str | None:
        """With which option a guard holds, although it does not in a normal run."""
        names: list[str] = []

        def is_off(test: cst.BaseExpression, holds: bool) -> bool:
            name, outcome = self._by_default(test)
            if outcome is not (not holds) or self._switches_training(guard, test):
                return False
            given = self._options.given(name)
            names.append(otherwise(name, given if given is not None else False))
            return True

        assert guard.condition is not None
        return names[-1] if implied(guard.condition, guard.holds, is_off) else None

    def _by_default(self, test: cst.BaseExpression) -> tuple[str, bool | None]:
        """The option that a condition tests, and what the condition evaluates to in a normal run; None if unknown."""
        value, compared, compare = test, None, None
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            value, compared = test.left, literal(target.comparator)
            compare = _COMPARISONS.get(type(target.operator))
            if compared is ... or compare is None:
                return "", None
        name, default = self._default(value)
        if default is ... or is_device_name(name.strip("-").replace("-", "_")):
            return name, None
        try:
            return name, bool(compare(default, compared) if compare is not None else default)
        except TypeError:
            return name, None

    def _switches_training(self, guard: Guard, test: cst.BaseExpression) -> bool:
        """Whether the same option decides in its function whether the step trains, as ``if train: loss.backward()``."""
        around = self._module.function_of(guard.node) or self._module.tree
        branches = (node for node in descendants(around) if isinstance(node, cst.If))
        same = wording(test)
        return any(
            any(wording(part) == same for part in descendants(branch.test))
            and self._module.heat_analysis.trains(branch)
            for branch in branches
        )

    def _default(self, node: cst.BaseExpression) -> tuple[str, object]:
        """The name of an option and its value in a normal run: of a program, or of a function."""
        name, default = self._options.of(node)
        if default is not ...:
            return name, default
        read: cst.CSTNode = node
        if isinstance(node, cst.Attribute) and dotted(node.value) == "self":
            owner = self._module.class_of(node)
            stored = self._module.classes.assignments(owner, node.attr.value) if owner is not None else ()
            read = stored[0][0] if len(stored) == 1 else node
        bindings = self._module.definitions(read) if isinstance(read, cst.Name) else ()
        return name, self._of_parameter(bindings[0]) if len(bindings) == 1 else ...

    def _of_parameter(self, binding: Binding) -> object:
        """The value of a parameter in a normal run, if no visible call passes anything but its default."""
        param = binding.statement
        if not isinstance(param, cst.Param) or param.default is None:
            return ...
        parameters = self._module.parent(param)
        function = self._module.parent(parameters) if parameters is not None else None
        default = literal(param.default)
        if not isinstance(function, cst.FunctionDef) or default is ...:
            return ...
        if self._module.followed.reaches(function):
            return ...  # following the programs tells what they pass
        passed = [given for site in self._module.functions.callers(function).sites for given in site.call.args]
        named = [arg for arg in passed if arg.keyword is not None and arg.keyword.value == param.name.value]
        known = all(literal(arg.value) == default for arg in named) and not any(arg.star for arg in passed)
        if not known or self._passed_by_position(function, param):
            return ...
        given = self._options.given(param.name.value)
        return given if given is not None else default

    def _passed_by_position(self, function: cst.FunctionDef, param: cst.Param) -> bool:
        of = self._module.functions
        sites = of.callers(function).sites
        return any(
            of.parameter_for(function, site.call, arg) is param and arg.keyword is None
            for site in sites
            for arg in site.call.args
        )

    # -- functions that nothing calls --------------------------------------------------------------

    def _unused(self, node: cst.CSTNode, depth: int = _DEPTH) -> str | None:
        """The function around a node that nothing calls, although only this file could call it."""
        function = self._module.function_of(node)
        if function is None or depth == 0 or not self._is_internal(function):
            return None
        callers = self._module.functions.callers(function)
        if callers.escapes:
            return None
        others = [site.call for site in callers.sites if self._module.function_of(site.call) is not function]
        if not others:
            return f"nothing calls `{function.name.value}`"
        reasons = [self._unused(call, depth - 1) for call in others]
        return reasons[0] if None not in reasons else None

    def _is_internal(self, function: cst.FunctionDef) -> bool:
        """Whether only the file itself is meant to call a function: one inside another, or a private one."""
        if function.decorators or self._module.class_of(function) is not None:
            return False
        return self._module.function_of(function) is not None or function.name.value.startswith("_")
