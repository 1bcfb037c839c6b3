"""On which device the parameters of an optimizer are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, literal, method, positional
from torchlint.analysis.values.lattice import Device, join_devices

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Calls that pass on the parameters in their last argument, or in all of them.
_SELECTING = frozenset(("builtins.list", "builtins.tuple", "builtins.iter", "builtins.filter"))
_JOINING = frozenset(("itertools.chain",))


class OptimizedParameters:
    """The parameters that the optimizers of one module get."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def device(self, optimizer: cst.Call) -> Device:
        """The device of all parameters; UNKNOWN if it may be another one for some."""
        given = argument(optimizer, "params", 0)
        return self._of(given) if given is not None else Device.UNKNOWN

    def _of(self, node: cst.BaseExpression) -> Device:
        if isinstance(node, cst.Call):
            return self._of_call(node)
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            own = dotted(node.elt) is not None and dotted(node.elt) == dotted(node.for_in.target)
            return self._of(node.for_in.iter) if own and node.for_in.inner_for_in is None else Device.UNKNOWN
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            return _all_on((self._of(node.left), self._of(node.right)))
        if isinstance(node, cst.List):
            return _all_on(self._of_group(element) for element in node.elements)
        return Device.UNKNOWN

    def _of_call(self, call: cst.Call) -> Device:
        if method(call) == "parameters" and isinstance(call.func, cst.Attribute):
            return self._of_module(call.func.value)
        name = self._module.qualified(call.func)
        if any(arg.star or arg.keyword is not None for arg in call.args) or not call.args:
            return Device.UNKNOWN
        if name in _JOINING:
            return _all_on(self._of(arg.value) for arg in call.args)
        return self._of(call.args[-1].value) if name in _SELECTING else Device.UNKNOWN

    def _of_group(self, element: cst.BaseElement) -> Device:
        """The device of the parameters in ``{"params": .., "lr": ..}``."""
        if not isinstance(element.value, cst.Dict):
            return Device.UNKNOWN
        members = [e for e in element.value.elements if isinstance(e, cst.DictElement)]
        found = [e.value for e in members if literal(e.key) == "params"]
        return self._of(found[0]) if len(found) == 1 and len(members) == len(element.value.elements) else Device.UNKNOWN

    def _of_module(self, owner: cst.BaseExpression) -> Device:
        value = self._module.value(owner)
        if value.device.accelerated:
            return value.device
        return self._module.device_evidence.moved_nearby(owner)

    def steps(self, optimizer: cst.Call) -> list[cst.Call]:
        """The calls that make a step of an optimizer in the file: ``optimizer.step()``, ``scaler.step(optimizer)``."""
        parent = self._module.parent(optimizer)
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return []
        name = self._module.code(parent.targets[0].target)
        calls = [c for c in self._module.nodes_of(cst.Call, frozenset(("step",))) if method(c) == "step"]
        near = [call for call in calls if self._shares_names(optimizer, call, name)]
        return [call for call in near if name in (self._stepped(call), self._receiver(call))]

    def _shares_names(self, optimizer: cst.Call, call: cst.Call, name: str) -> bool:
        """Whether a name means the same where an optimizer is constructed and where a call is."""
        one, other = self._module.function_of(optimizer), self._module.function_of(call)
        if one is None or one is other:
            return True
        same = other is not None and self._module.class_of(one) is self._module.class_of(other)
        return same and name.startswith("self.")

    def _receiver(self, call: cst.Call) -> str:
        return self._module.code(call.func.value) if isinstance(call.func, cst.Attribute) else ""

    def _stepped(self, call: cst.Call) -> str | None:
        given = positional(call, 0)
        return self._module.code(given) if isinstance(given, (cst.Name, cst.Attribute)) else None


def _all_on(devices: Iterable[Device]) -> Device:
    """The device that several groups of parameters share; the CPU and an accelerator together are unknown."""
    found = list(devices)
    if not found or not all(device.accelerated for device in found):
        return Device.UNKNOWN
    return reduce(join_devices, found)
