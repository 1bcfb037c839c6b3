"""Step calls: calls of functions of other project files in every step, and which arguments lie on the device."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal, method
from torchlint.analysis.things.step import Step
from torchlint.analysis.values.results import is_on_device
from torchlint.model import Heat
from torchlint.project.definitions import CALLED, passed_instance

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding
    from torchlint.project.facts import PassedInstance, StepCall

_DEPTH = 4  # of parameters that are passed on


class StepCalls:
    """Finds such calls in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def all(self, *, later: bool = False) -> list[StepCall]:
        """The functions that are called, each once for each combination of arguments on the device.

        With ``later``, only those that follow from calls in other files: made by a function that these call, or with
        what came from one.
        """
        found: dict[tuple[object, ...], StepCall] = {}
        for call in self._module.nodes_of(cst.Call):
            name = self._callee(call)
            if name is None or self._module.heat(call).rank < Heat.STEP.rank or self._module.never_runs(call):
                continue
            device = list(self._arguments_on_device(call))
            if later and not device and not self._is_called_elsewhere(call):
                continue
            trains = Step(self._module, self._module.heat_analysis.enclosing_step(call)).trains
            found.setdefault((name, *device, trains), {"function": name, "device": device, "trains": trains})
        return list(found.values())

    def _is_called_elsewhere(self, call: cst.Call) -> bool:
        """Whether a call is part of a function that other files call in every step."""
        function = self._module.function_of(call)
        return function is not None and self._module.step_caller(function) is not None

    def _arguments_on_device(self, call: cst.Call) -> Iterator[str]:
        """The keywords, or indices of positional arguments, that get tensors on an accelerator."""
        if any(arg.star for arg in call.args):
            return
        for position, arg in enumerate(call.args):
            if is_on_device(self._module.value(arg.value)):
                yield arg.keyword.value if arg.keyword is not None else str(position)

    # -- what is called --------------------------------------------------------------------------

    def _callee(self, call: cst.Call) -> str | None:
        """The dotted name of a function or method that another project file may define."""
        function = self._module.project_symbol(call.func)
        if function is not None:
            return function
        owner = self._class_of(call.func)
        if owner is not None:
            return f"{owner}.{CALLED}"
        if not isinstance(call.func, cst.Attribute):
            return None
        owner = self._class_of(call.func.value) or self._inherited_from(call)
        return f"{owner}.{call.func.attr.value}" if owner is not None else None

    def _class_of(self, node: cst.BaseExpression, depth: int = _DEPTH) -> str | None:
        """The class of another file of which a variable or an attribute of ``self`` holds an instance.

        For a parameter that other files pass, a name that stands for what they pass.
        """
        values: list[cst.CSTNode | None] = []
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            if len(bindings) == 1 and bindings[0].kind == "parameter":
                return self._passed(bindings[0], depth - 1) if depth else None
            values = [b.value for b in bindings if not b.path]
        elif isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
            owner = self._module.class_of(node)
            found = self._module.classes.assignments(owner, node.attr.value) if owner is not None else []
            values = [value for value, path in found if not path]
            if len(found) == 1 and isinstance(found[0][0], cst.Name):
                return self._class_of(found[0][0], depth)  # ``self.criterion = criterion``
        names = {self._constructed(value) for value in values}
        return names.pop() if len(names) == 1 else None

    def _passed(self, binding: Binding, depth: int) -> str | None:
        """The class of what the calls of a function pass for a parameter: in this file, or else in others."""
        given = [
            value
            for value in self._module.parameters.known_arguments(binding)
            if literal(value) is not None and not self._is_itself(value, binding)
        ]
        if given:
            names = {
                self._class_of(value, depth) if isinstance(value, cst.Name) else self._constructed(value)
                for value in given
            }
            return names.pop() if len(names) == 1 else None
        function = self._module.function_of(binding.node)
        if function is None or not isinstance(binding.statement, cst.Param) or self._module.function_of(function):
            return None
        owner = self._module.class_of(function)
        ordered = [*function.params.posonly_params, *function.params.params][owner is not None :]
        if owner is not None and binding.statement not in (*ordered, *function.params.kwonly_params):
            return None  # ``self``
        name = function.name.value
        if owner is not None:
            name = owner.name.value if name == "__init__" else f"{owner.name.value}.{name}"
        place = ordered.index(binding.statement) if binding.statement in ordered else -1
        return passed_instance(f".{self._stem}{name}", binding.name, place)

    def _is_itself(self, value: cst.BaseExpression, binding: Binding) -> bool:
        """Whether a recursive call passes a parameter on."""
        return isinstance(value, cst.Name) and self._module.definitions(value) == (binding,)

    def instances_passed(self) -> Iterator[PassedInstance]:
        """The instances of classes of the project that are passed to functions of other files."""
        module = self._module
        for call in module.nodes_of(cst.Call, module.project_symbol_names | module.project_result_names):
            name = module.project_symbol(call.func) or module.project_method(call)
            if name is None or any(arg.star for arg in call.args):
                continue
            for place, arg in enumerate(call.args):
                made = self._instance(arg.value)
                if made is not None:
                    key = arg.keyword.value if arg.keyword is not None else str(place)
                    yield {"function": name, "argument": key, "type": made}

    def _instance(self, node: cst.BaseExpression) -> str | None:
        """The class of the project of which a variable holds an instance, also one of this file."""
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return None
        owner = self._module.value(node).node
        if isinstance(owner, cst.ClassDef):
            return f".{self._stem}{owner.name.value}"
        return self._class_of(node)

    def _constructed(self, node: cst.CSTNode | None) -> str | None:
        """``pkg.Model`` for ``Model(..)``, also in ``Model(..).to(device)``."""
        while isinstance(node, cst.Call) and method(node) in ("to", "cuda", "train", "eval"):
            assert isinstance(node.func, cst.Attribute)
            node = node.func.value
        name = self._module.project_symbol(node.func) if isinstance(node, cst.Call) else None
        return name if name is not None and name.rpartition(".")[2][:1].isupper() else None

    def _inherited_from(self, call: cst.Call) -> str | None:
        """The class around ``self.reduce(..)``, if a base class in another file may define the method."""
        assert isinstance(call.func, cst.Attribute)
        owner = self._module.class_of(call)
        own = isinstance(call.func.value, cst.Name) and call.func.value.value == "self"
        if not own or owner is None or self._module.classes.method(owner, call.func.attr.value) is not None:
            return None
        elsewhere = any(self._module.project_symbol(base.value) is not None for base in owner.bases)
        return f".{self._stem}{owner.name.value}" if elsewhere else None

    @property
    def _stem(self) -> str:
        """The name of the file as a module in its folder, with a dot; empty for a package."""
        stem = posixpath.basename(self._module.path.replace("\\", "/")).removesuffix(".py")
        return "" if stem == "__init__" else f"{stem}."
