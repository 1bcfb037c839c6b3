"""Devices in scope: variables that hold a device with a fallback to the CPU, and what is used as a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates, visible_names
from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import literal, method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.devices import is_device_name
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_COMPARED = (cst.Attribute, cst.Comparison, cst.ComparisonTarget)


class DevicesInScope:
    """Finds such variables in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._fall_back: dict[Binding, bool] = {}

    def at(self, node: cst.CSTNode) -> Binding | None:
        """The binding of a name that falls back to the CPU, and that the place could use instead."""
        for _, bindings in visible_names(self._module, node, lambda name, _: names_device(name)):
            if not self._falls_back(bindings):
                continue
            for binding in bindings:
                if binding.kind == "parameter" or dominates(self._module, binding.statement, node):
                    return binding
        return None

    def _is_for_all(self, binding: Binding) -> bool:
        """No option chooses the device for something else: ``eval_device``, ``torch.device(args.teacher_device)``."""
        parts = list(descendants(binding.value)) if binding.value is not None else []
        options = [p.attr.value for p in parts if isinstance(p, cst.Attribute) and self._module.qualified(p) is None]
        options += [str(literal(p)) for p in parts if isinstance(p, cst.SimpleString)]
        chosen = [name for name in options if names_device(name)]
        plain = all(known.PLAIN_WORDS.issuperset(_words(name)) for name in (binding.name, *chosen))
        told = binding.kind == "parameter" or any(isinstance(p, (cst.Attribute, cst.Subscript)) for p in parts)
        return plain and (not told or any(map(self.is_device_place, self._module.uses(binding))))

    def _falls_back(self, bindings: list[Binding]) -> bool:
        """Whatever a name holds is for all of the program an accelerator or, where there is none, the CPU."""
        first = bindings[0]
        if first not in self._fall_back:
            values = map(self._module.evaluator.bound, bindings)
            devices = all(v.kind in (Kind.DEVICE, Kind.STRING) and v.device is Device.VARIABLE for v in values)
            self._fall_back[first] = devices and all(
                self.is_cuda_or_cpu(binding) or self._is_for_all(binding) for binding in bindings
            )
        return self._fall_back[first]

    def is_cuda_or_cpu(self, binding: Binding) -> bool:
        """``"cuda" if torch.cuda.is_available() else "cpu"``, perhaps in ``torch.device``, and nothing else."""
        scope = self._module.names.scope_at(binding.node)
        value = self._inside_device(binding.value)
        if binding.path or not isinstance(value, cst.IfExp) or len(scope.bindings.get(binding.name, ())) != 1:
            return False
        sides = [literal(self._inside_device(side)) for side in (value.body, value.orelse)]
        return sides == ["cuda", "cpu"] and self._is_availability(value.test)

    def _inside_device(self, node: cst.BaseExpression | None) -> cst.BaseExpression | None:
        """``x`` of ``torch.device(x)``, and of ``x``."""
        inside = (
            isinstance(node, cst.Call)
            and (self._module.qualified(node.func) or "") == "torch.device"
            and len(node.args) == 1
        )
        return node.args[0].value if inside else node  # type: ignore[union-attr]

    def _is_availability(self, test: cst.BaseExpression) -> bool:
        """``torch.cuda.is_available()``, or a name that stands for what it said."""
        if isinstance(test, cst.Name):
            made = self._module.definitions(test)
            value = made[0].value if len(made) == 1 and made[0].kind == "assign" and not made[0].path else None
            return self._qualified_call(value) == "torch.cuda.is_available"
        return self._qualified_call(test) == "torch.cuda.is_available"

    def _qualified_call(self, node: cst.CSTNode | None) -> str:
        return (self._module.qualified(node.func) or "") if isinstance(node, cst.Call) else ""

    def is_device_place(self, node: cst.CSTNode) -> bool:
        """The expression is used as a device: ``.to(node)``, ``device=node``, ``torch.device(node)``."""
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg):
            return False
        name = self._module.qualified(call.func)
        if arg.keyword is not None:
            return arg.keyword.value == "device" and name not in known.NO_PLACEMENT
        first = call.args[0] is arg
        if first and method(call) in ("to", "cuda"):
            return True
        if first and name in ("torch.device", "torch.set_default_device"):
            return not is_compared(self._module, call)
        function = self._module.functions.callee(call)
        param = self._module.functions.parameter_for(function, call, arg) if function else None
        return param is not None and names_device(param.name.value)


def names_device(name: str) -> bool:
    """``device``, ``gpu_id``; ``device_type``, which autocast takes, is none."""
    return is_device_name(name) and not is_kind_of_device(name)


def is_kind_of_device(name: str) -> bool:
    """``device_type`` is what autocast takes."""
    return name.lower().split("_")[-1] in ("type", "kind")


def is_compared(module: SourceModule, device: cst.Call) -> bool:
    """``torch.device(x).type``, ``torch.device(x) == y``: a device that places nothing."""
    return isinstance(module.parent(device), _COMPARED)


def _words(name: str) -> list[str]:
    return name.lower().strip("_").split("_")
