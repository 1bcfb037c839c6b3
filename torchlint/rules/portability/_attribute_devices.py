"""Attribute devices: ``self.device`` or ``values.device``, where a function can use it as its device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.things.cuda.device_choices import DeviceChoices
from torchlint.analysis.things.cuda.device_in_scope import DevicesInScope
from torchlint.analysis.values.lattice import Device
from torchlint.knowledge.portability import MOVE_METHODS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_STATIC = frozenset({"builtins.staticmethod", "builtins.classmethod"})


class AttributeDevices:
    """Finds the attributes ``device`` in one module that its own code uses as devices."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._devices = module.shared(DevicesInScope)

    def at(self, place: cst.CSTNode) -> cst.Attribute | None:
        """``self.device`` of the class around a place, or else the device of an object in the function, or None."""
        function = self._module.function_of(place)
        if function is None:
            return None
        return self._of_instance(place, function) or self._of_variable(place, function)

    # -- self.device -------------------------------------------------------------------------------

    def _of_instance(self, place: cst.CSTNode, function: cst.FunctionDef) -> cst.Attribute | None:
        owner = self._module.class_of(function)
        first = next(iter(function.params.params), None)
        if owner is None or first is None or self._module.function_of(function) is not None:
            return None
        if any(self._module.qualified(d.decorator) in _STATIC for d in function.decorators):
            return None
        name = first.name.value
        found = [a for a in self._module.attributes_named("device", owner) if _is_of(a, name)]
        written = [a for a in found if self._assignment(a) is not None]
        if not all(map(self._is_chosen, written)) or not any(map(self._devices.is_used_as_device, found)):
            return None
        return found[0] if self._is_set(place, function, written) else None

    def _is_set(self, place: cst.CSTNode, function: cst.FunctionDef, written: list[cst.Attribute]) -> bool:
        """Whether the attribute exists when a place runs: constructors set it, or call those of their bases, before."""
        if function.name.value != "__init__":
            return True
        if written:
            return any(dominates(self._module, self._module.statement_of(a), place) for a in written)
        calls = self._module.within(function.body, cst.Call)
        above = (call for call in calls if method(call) == "__init__")
        return any(dominates(self._module, self._module.statement_of(call), place) for call in above)

    def _assignment(self, attribute: cst.Attribute) -> cst.CSTNode | None:
        """The statement that assigns to an attribute, or None if it is read."""
        parent = self._module.parent(attribute)
        if isinstance(parent, cst.AssignTarget):
            return self._module.parent(parent)
        return parent if isinstance(parent, cst.AnnAssign) and parent.target is attribute else None

    def _is_chosen(self, attribute: cst.Attribute) -> bool:
        """Whether an attribute may be set to another device than CUDA or the CPU, which are named there."""
        statement = self._assignment(attribute)
        value = statement.value if isinstance(statement, (cst.Assign, cst.AnnAssign)) else None
        if value is None or self._module.shared(DeviceChoices).names_cuda(value):
            return False
        return self._module.value(value).device is not Device.CPU

    # -- values.device -----------------------------------------------------------------------------

    def _of_variable(self, place: cst.CSTNode, function: cst.FunctionDef) -> cst.Attribute | None:
        found = self._module.attributes_named("device", function)
        return next((a for a in found if self._places(a) and self._is_known(a, place)), None)

    def _places(self, attribute: cst.Attribute) -> bool:
        """Whether something is placed on a device: ``.to(x.device)``; a checkpoint may be loaded to another one."""
        call = self._module.call_with_argument(attribute)
        named = call is not None and self._module.qualified(call.func) == "torch.device"
        return not named and self._devices.is_used_as_device(attribute)

    def _is_known(self, attribute: cst.Attribute, place: cst.CSTNode) -> bool:
        """Whether an attribute is the device of an object that has one value in the function, and is never moved."""
        name = attribute.value
        if not isinstance(name, cst.Name) or self._module.qualified(attribute) is not None:
            return False
        bindings = self._module.definitions(name)
        if len(bindings) != 1 or self._assignment(attribute) is not None:
            return False
        same = (a for a in self._module.attributes_named("device") if _is_of(a, name.value))
        if not all(self._is_chosen(a) for a in same if self._assignment(a) is not None):
            return False
        binding = bindings[0]
        scope = self._module.names.scope_at(binding.node)
        if len(scope.bindings.get(binding.name, ())) != 1 or scope is not self._module.names.scope_at(place):
            return False
        known = binding.kind == "parameter" or dominates(self._module, binding.statement, place)
        return known and not any(map(self._is_moved, self._module.uses(binding)))

    def _is_moved(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        call = self._module.parent(parent) if parent is not None else None
        return isinstance(call, cst.Call) and method(call) in MOVE_METHODS and receiver(call) is use


def _is_of(attribute: cst.Attribute, name: str) -> bool:
    return isinstance(attribute.value, cst.Name) and attribute.value.value == name
