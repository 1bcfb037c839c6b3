"""Loops over parameters that update tensors, or their gradients, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import literal, method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Names of functions that a training step calls, if they are defined in another file than the step.
_ZEROING = ("zero_grad", "zero_param_grad")
_AVERAGING = ("ema", "polyak", "soft_update", "momentum_update", "update_target", "moving_average", "update_average")
_SCALED = frozenset({"clamp_", "clip_", "mul_", "div_"})
_PARAMETERS = frozenset({"parameters", "named_parameters"})
# Methods that compute gradients, and the one that applies them.
_STEPPING = frozenset({"backward", "manual_backward", "step"})


class Update(NamedTuple):
    """A loop that updates tensors one by one; ``what`` is ``average`` or ``gradients``, ``verb`` an in-place method."""

    loop: cst.For
    what: str
    verb: str


class Gradients:
    """Updates of parameters and gradients in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis

    def is_of_training(self, node: cst.CSTNode, names: tuple[str, ...] = ()) -> bool:
        """Whether a node runs in every step, or in a function with such a name that nothing in the file calls."""
        loops, function = self._heat.enclosing_loops(node)
        if self._module.heat(node).rank >= Heat.STEP.rank:
            return True
        if function is None or any(self._heat.is_throttled(node, loop) for loop in loops):
            return False
        named = any(name in function.name.value.lower() for name in names)
        return named and not self._module.functions.callers(function).sites

    def is_zeroed_one_by_one(self, call: cst.Call) -> bool:
        """``p.grad.zero_()`` and ``p.grad.data.fill_(0)`` in a loop over parameters, for each that has a gradient."""
        if method(call) == "fill_" and not (call.args and literal(call.args[0].value) == 0):
            return False
        loop = self._loop_over_parameters(call, _gradient_of(receiver(call)))
        if loop is None or not self.is_of_training(loop, _ZEROING) or self._drops_new_gradients(loop):
            return False
        return all(_tests_gradient(guard.condition) for guard in self._module.guards(call, stop=loop))

    def _drops_new_gradients(self, loop: cst.For) -> bool:
        """Whether a loop runs between ``backward`` and the step: it drops some gradients, and the step needs others."""
        around = self._heat.enclosing_step(loop)
        calls = (
            self._module.within(around, cst.Call) if isinstance(around, (cst.For, cst.While, cst.FunctionDef)) else ()
        )
        verbs = [(self._module.order(call), method(call)) for call in calls if method(call) in _STEPPING]
        place = self._module.order(loop)
        earlier = max((verb for verb in verbs if verb[0] < place), default=None)
        return earlier is not None and earlier[1] != "step" and any(verb == "step" for at, verb in verbs if at > place)

    def _loop_over_parameters(self, node: cst.CSTNode, variable: str | None) -> cst.For | None:
        """The innermost loop around a node, if its variable has this name and runs through parameters."""
        loop = next((a for a in self._module.ancestors(node) if isinstance(a, (cst.For, cst.While))), None)
        if not isinstance(loop, cst.For) or variable is None:
            return None
        targets = {name.value for name in descendants(loop.target) if isinstance(name, cst.Name)}
        return loop if variable in targets and _runs_through_parameters(loop.iter) else None

    def update(self, loop: cst.For) -> Update | None:
        """The update that a loop makes; None if it does anything else besides."""
        calls = list(self._statements(loop.body))
        if not calls or None in calls or not _runs_through_parameters(loop.iter):
            return None
        if self._module.value(loop.iter).elements is not None:
            return None  # a handful of tensors that are written out
        verbs = [method(call) or "" for call in calls if call is not None]
        targets = [name.value for name in descendants(loop.target) if isinstance(name, cst.Name)]
        if len(calls) == 1 and verbs[0] in _SCALED and calls[0] is not None:
            variable = _gradient_of(receiver(calls[0]))
            if variable in targets and self._loop_over_parameters(calls[0], variable) is loop:
                return Update(loop, "gradients", verbs[0]) if self.is_of_training(loop) else None
        averaged = isinstance(loop.iter, cst.Call) and self._module.qualified(loop.iter.func) == "builtins.zip"
        if averaged and self._averages([call for call in calls if call is not None], targets):
            return Update(loop, "average", verbs[0]) if self.is_of_training(loop, _AVERAGING) else None
        return None

    def _statements(self, body: cst.BaseSuite) -> Iterator[cst.Call | None]:
        """The calls that a body consists of; None for anything else."""
        for line in body.body:
            if isinstance(line, cst.With):
                yield from self._statements(line.body)
            elif isinstance(line, cst.SimpleStatementLine):
                for small in line.body:
                    value = small.value if isinstance(small, cst.Expr) else None
                    yield value if isinstance(value, cst.Call) else None
            elif isinstance(line, cst.BaseSmallStatement):
                yield line.value if isinstance(line, cst.Expr) and isinstance(line.value, cst.Call) else None
            else:
                yield None

    def _averages(self, calls: list[cst.Call], targets: list[str]) -> bool:
        """``t.mul_(d).add_(p, alpha=1 - d)``, also in two statements, ``t.lerp_(p, w)``, ``t.copy_(a * p + b * t)``."""
        updated = {_updated(call) for call in calls}
        if len(updated) != 1 or not updated <= set(targets) or len(targets) not in (2, 4):
            return False
        verbs = [verb for call in calls for verb in _verbs(call)]
        used = {name.value for call in calls for name in descendants(call) if isinstance(name, cst.Name)}
        if len(used & set(targets)) != 2:
            return False
        if verbs == ["copy_"]:
            sums = [node for node in descendants(calls[0]) if isinstance(node, cst.BinaryOperation)]
            lerps = [node for node in descendants(calls[0]) if method(node) == "lerp"]
            return bool(lerps) or any(isinstance(node.operator, cst.Add) for node in sums)
        return verbs in (["lerp_"], ["mul_", "add_"])


def _runs_through_parameters(iterable: cst.BaseExpression) -> bool:
    """``model.parameters()``, ``params``, and pairs of them."""
    if isinstance(iterable, cst.Call):
        if method(iterable) in _PARAMETERS:
            return True
        given = [arg.value for arg in iterable.args if arg.keyword is None]  # without `strict=True`
        return bool(given) and all(map(_runs_through_parameters, given))
    return "param" in (dotted(iterable) or "").rpartition(".")[2].lower()


def _tests_gradient(condition: cst.BaseExpression | None) -> bool:
    """``p.grad is not None``, and what follows ``if p.grad is None: continue``."""
    nodes = (condition, *descendants(condition)) if condition is not None else ()
    return any(isinstance(node, cst.Attribute) and node.attr.value in ("grad", "requires_grad") for node in nodes)


def _gradient_of(node: cst.BaseExpression | None) -> str | None:
    """``p`` for ``p.grad`` and ``p.grad.data``."""
    name = dotted(node) or ""
    variable = name.removesuffix(".data").removesuffix(".grad")
    return variable if name.removesuffix(".data").endswith(".grad") else None


def _updated(call: cst.Call) -> str | None:
    """The variable whose tensor a chain of in-place methods updates."""
    node: cst.BaseExpression = call
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    return (dotted(node) or "").removesuffix(".data") or None


def _verbs(call: cst.Call) -> list[str]:
    """The in-place methods of a chain, in the order in which they run."""
    found: list[str] = []
    node: cst.BaseExpression = call
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        found.append(node.func.attr.value)
        node = node.func.value
    return found[::-1]
