"""Devices in scope: variables that hold a device with a fallback to the CPU, and expressions used as devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates, visible_names
from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import literal, method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.semantics.devices import is_device_name
from torchlint.knowledge import portability as known
from torchlint.knowledge.precision import GRAD_SCALERS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_COMPARED = (cst.Attribute, cst.Comparison, cst.ComparisonTarget)


class DevicesInScope:
    """Finds the device variables of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._fall_back: dict[Binding, bool] = {}

    def at(self, node: cst.CSTNode) -> Binding | None:
        """The binding of a device variable that falls back to the CPU and is visible at a node, or None."""
        for _, bindings in visible_names(self._module, node, _is_device):
            if not self._falls_back(bindings):
                continue
            for binding in bindings:
                if binding.kind == "parameter" or dominates(self._module, binding.statement, node):
                    return binding
        return None

    def _is_program_wide(self, binding: Binding) -> bool:
        """Whether a variable is the device of the whole program, unlike ``eval_device`` or ``args.teacher_device``."""
        parts = list(descendants(binding.value)) if binding.value is not None else []
        options = [p.attr.value for p in parts if isinstance(p, cst.Attribute) and self._module.qualified(p) is None]
        options += [str(literal(p)) for p in parts if isinstance(p, cst.SimpleString)]
        chosen = [name for name in options if names_device(name)]
        generic = all(known.GENERIC_DEVICE_WORDS.issuperset(_words(name)) for name in (binding.name, *chosen))
        configured = binding.kind == "parameter" or any(isinstance(p, (cst.Attribute, cst.Subscript)) for p in parts)
        return generic and (not configured or any(map(self.is_used_as_device, self._module.uses(binding))))

    def _falls_back(self, bindings: list[Binding]) -> bool:
        """Whether all values of a variable are, for the whole program, an accelerator or else the CPU."""
        first = bindings[0]
        if first not in self._fall_back:
            values = map(self._module.evaluator.bound, bindings)
            devices = all(v.kind in (Kind.DEVICE, Kind.STRING) and v.device is Device.VARIABLE for v in values)
            self._fall_back[first] = devices and all(
                self.is_cuda_or_cpu(binding) or self._is_program_wide(binding) for binding in bindings
            )
        return self._fall_back[first]

    def is_cuda_or_cpu(self, binding: Binding) -> bool:
        """Whether a variable is always ``"cuda" if torch.cuda.is_available() else "cpu"``, or a device made of that."""
        scope = self._module.names.scope_at(binding.node)
        value = self._inside_device(binding.value)
        if binding.path or not isinstance(value, cst.IfExp) or len(scope.bindings.get(binding.name, ())) != 1:
            return False
        sides = [literal(self._inside_device(side)) for side in (value.body, value.orelse)]
        return sides == ["cuda", "cpu"] and self._is_availability(value.test)

    def _inside_device(self, node: cst.BaseExpression | None) -> cst.BaseExpression | None:
        """The argument of ``torch.device(x)``; for other nodes, the node itself."""
        inside = (
            isinstance(node, cst.Call)
            and (self._module.qualified(node.func) or "") == "torch.device"
            and len(node.args) == 1
        )
        return node.args[0].value if inside else node  # type: ignore[union-attr]

    def _is_availability(self, test: cst.BaseExpression) -> bool:
        """Whether a condition is ``torch.cuda.is_available()``, or a variable that holds its result."""
        if isinstance(test, cst.Name):
            made = self._module.definitions(test)
            value = made[0].value if len(made) == 1 and made[0].kind == "assign" and not made[0].path else None
            return self._qualified_call(value) == "torch.cuda.is_available"
        return self._qualified_call(test) == "torch.cuda.is_available"

    def _qualified_call(self, node: cst.CSTNode | None) -> str:
        return (self._module.qualified(node.func) or "") if isinstance(node, cst.Call) else ""

    def is_used_as_device(self, node: cst.CSTNode) -> bool:
        """Whether an expression is used as a device: ``.to(node)``, ``device=node``, ``torch.device(node)``."""
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg):
            return False
        name = self._module.qualified(call.func)
        if arg.keyword is not None:
            return arg.keyword.value == "device" and name not in GRAD_SCALERS
        first = call.args[0] is arg
        if first and method(call) in ("to", "cuda"):
            return True
        if first and name in ("torch.device", "torch.set_default_device"):
            return not is_compared(self._module, call)
        function = self._module.functions.callee(call)
        param = self._module.functions.parameter_for(function, call, arg) if function else None
        return param is not None and names_device(param.name.value)


def names_device(name: str) -> bool:
    """Whether a name says that it holds a device: ``device``, ``gpu_id``; not ``device_type``."""
    return is_device_name(name) and not names_device_type(name)


def _is_device(name: str, _: list[Binding]) -> bool:
    return names_device(name)


def names_device_type(name: str) -> bool:
    """Whether a name says that it holds a device type, which ``torch.autocast`` takes."""
    return name.lower().split("_")[-1] in ("type", "kind")


def is_compared(module: SourceModule, device: cst.Call) -> bool:
    """Whether a device is only compared: ``torch.device(x).type``, ``torch.device(x) == y``."""
    return isinstance(module.parent(device), _COMPARED)


def _words(name: str) -> list[str]:
    return name.lower().strip("_").split("_")
