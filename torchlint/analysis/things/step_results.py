"""What functions return that other files call in every step, given what these pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.values.lattice import UNKNOWN, Device, Kind, Value, device_named, join_devices
from torchlint.analysis.values.results import described, tells_device

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.project.facts import StepResult

_COMPREHENSIONS = (cst.ListComp, cst.GeneratorExp, cst.DictComp)


class StepResults:
    """The return values of such functions in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def all(self) -> dict[str, StepResult]:
        """By function: what is known of its result, and the parameters that must be on the device for that."""
        found = {}
        for function in self._module.tree.body:
            if isinstance(function, cst.FunctionDef) and self._module.step_caller(function) is not None:
                result = self._result(function)
                if result is not None:
                    found[function.name.value] = result
        return found

    def _result(self, function: cst.FunctionDef) -> StepResult | None:
        params = function.params
        if params.star_kwarg is not None or isinstance(params.star_arg, cst.Param):
            return None
        needs: list[list[str]] = []
        passed = (self._module.step_caller(function) or {"device": []})["device"]
        ordered = [*params.posonly_params, *params.params]
        for param in (*ordered, *params.kwonly_params):
            places = [param.name.value, *([str(ordered.index(param))] if param in ordered else [])]
            given = not set(passed).isdisjoint(places)
            on_device = self._is_on_device(param)
            if given != on_device or device_named(self._module.value(param.default)) is Device.CPU:
                return None  # it depends on calls of which the other file knows nothing
            if given:
                needs.append(places)
        value = self._module.evaluator.return_value(function)
        moved = self._moved_by_recursion(function) if not (value.known or value.located) else UNKNOWN
        returned = described(moved if moved.located else value)
        return {"needs": needs, "value": returned} if tells_device(returned) else None

    def _is_on_device(self, param: cst.Param) -> bool:
        binding = self._module.binding_of(param.name)
        return binding is not None and self._module.evaluator.bound(binding).located

    # -- batches that are moved part by part ----------------------------------------------------

    def _moved_by_recursion(self, function: cst.FunctionDef) -> Value:
        """The result of a function that calls itself to move each tensor of a nested batch, and nothing else."""
        leaves = [leaf for made in self._module.evaluator.functions.body(function).returns for leaf in _leaves(made)]
        own = [leaf for leaf in leaves if self._calls(function, leaf)]
        kept = [leaf for leaf in leaves if self._is_parameter(leaf)]
        others = [self._module.value(leaf) for leaf in leaves if leaf not in own and leaf not in kept]
        if not own or not others or not all(value.accelerated for value in others):
            return UNKNOWN
        device = others[0].device
        for value in others[1:]:
            device = join_devices(device, value.device)
        return Value(Kind.UNKNOWN, device)

    def _calls(self, function: cst.FunctionDef, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Call) and self._module.evaluator.functions.callee(node) is function

    def _is_parameter(self, node: cst.BaseExpression) -> bool:
        bindings = self._module.definitions(node) if isinstance(node, cst.Name) else ()
        return bool(bindings) and all(binding.kind == "parameter" for binding in bindings)


def _leaves(node: cst.CSTNode | None) -> Iterator[cst.BaseExpression]:
    """The expressions for the tensors in a returned value: the members of comprehensions, also in ``tuple(..)``."""
    if isinstance(node, cst.Return):
        yield from _leaves(node.value)
    elif isinstance(node, (cst.ListComp, cst.GeneratorExp)):
        yield from _leaves(node.elt)
    elif isinstance(node, cst.DictComp):
        yield from _leaves(node.value)
    elif isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.args[0].value, _COMPREHENSIONS):
        yield from _leaves(node.args[0].value)
    elif isinstance(node, cst.BaseExpression):
        yield node
