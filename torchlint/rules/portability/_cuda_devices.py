"""Fixes of TL701: expressions for a device with a fallback to the CPU."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.dominance import dominates, visible_names
from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.things.cuda_request import CudaRequest
from torchlint.analysis.things.device_in_scope import DevicesInScope
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable
from torchlint.edit.names import Speller
from torchlint.edit.targets import Targets
from torchlint.knowledge.tensors import TENSOR_ATTRIBUTES
from torchlint.knowledge.transfers import TENSOR_METHODS
from torchlint.model import Edit
from torchlint.rules.portability._attribute_devices import AttributeDevices
from torchlint.rules.portability._hardcoded import Hardcoded
from torchlint.rules.portability._related_tensors import RelatedTensors

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_OTHER_DEVICE = "`{0}` may be a device other than the current CUDA device"
_NAMES = ("device", "default_device", "torch_device")
_SHAPES = frozenset("shape size dim ndim device dtype new_zeros new_ones new_tensor new_empty new_full".split())
FORWARD_KINDS = ("module", "function", "lightning")


class DeviceText(NamedTuple):
    """The text of a device expression, the caveats of using it, and the edits that define it.

    ``is_object`` is false for a string; ``is_local`` is true for a local variable or a parameter.
    """

    text: str
    caveats: tuple[str, ...] = ()
    definition: tuple[Edit, ...] = ()
    is_object: bool = True
    is_local: bool = False


class CudaDevices:
    """Finds device expressions that can replace the CUDA requests of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._devices = module.shared(DevicesInScope)
        self._speller = module.shared(Speller)

    # -- existing devices --------------------------------------------------------------------------

    def of_input(self, place: cst.CSTNode, kind: str) -> DeviceText:
        """The device of the first input of ``forward``, or of a Lightning module. Raises :class:`Unfixable`."""
        around = (a for a in self._module.ancestors(place) if isinstance(a, cst.FunctionDef))
        function = next((a for a in around if a.name.value in ("forward", "training_step", "validation_step")), None)
        params = [*function.params.posonly_params, *function.params.params] if function is not None else []
        if kind == "lightning" and params:
            return _with_caveat(f"{params[0].name.value}.device")
        if function is None or len(params) < 2 or self._module.function_of(place) is not function:
            raise Unfixable
        if not self._is_tensor(function, params[1]):
            raise Unfixable
        return _with_caveat(f"{params[1].name.value}.device")

    def of_related_tensor(self, place: cst.CSTNode) -> DeviceText | None:
        """The device of a tensor that the new tensor at a place is used with, or None."""
        name = self._module.shared(RelatedTensors).tensor_for(place)
        return _with_caveat(f"{name}.device") if name is not None else None

    def in_scope(self, place: cst.CSTNode) -> DeviceText | None:
        """A variable in scope that falls back to the CPU, or None."""
        found = self._devices.at(place)
        if found is None:
            return None
        is_exact = self._devices.is_cuda_or_cpu(found) and not self._may_be_replaced(found)
        written = DeviceText(found.name) if is_exact else _with_caveat(found.name)
        return written._replace(is_object=self._holds_object(found), is_local=self._is_local(found))

    def _may_be_replaced(self, binding: Binding) -> bool:
        """Whether a later ``from module import *`` may bind the name of a variable again."""
        every = self._module.nodes_of(cst.ImportFrom, frozenset())
        stars = (node for node in every if isinstance(node.names, cst.ImportStar))
        return any(self._module.comes_before(binding.statement, node) for node in stars)

    def of_attribute(self, place: cst.CSTNode) -> DeviceText | None:
        """``self.device``, or the device of an object that the function asks for its device already, or None."""
        found = self._module.shared(AttributeDevices).at(place)
        return _with_caveat(self._module.code(found)) if found is not None else None

    def object_in_scope(self, place: cst.CSTNode) -> str | None:
        """A variable in scope that holds the ``torch.device`` of CUDA or else of the CPU, or None."""
        found = self._devices.at(place)
        if found is None or not self._devices.is_cuda_or_cpu(found):
            return None
        return found.name if self._holds_object(found) else None

    def _holds_object(self, binding: Binding) -> bool:
        """Whether a variable holds a ``torch.device``, not a string."""
        if self._module.evaluator.bound(binding).kind is not Kind.DEVICE:
            return False
        value = binding.value
        chosen = (value.body, value.orelse) if isinstance(value, cst.IfExp) else ()
        return not any(isinstance(side, cst.SimpleString) for side in chosen)

    def converted_in_scope(self, place: cst.CSTNode) -> tuple[DeviceText, CudaRequest] | None:
        """A variable in scope that names CUDA, and falls back once its own definition is fixed, or None."""
        for name, bindings in visible_names(self._module, place, self._names_cuda):
            use = self._cuda_strings[bindings[0].value]  # type: ignore[index]
            if use.node is place:
                continue
            if dominates(self._module, bindings[0].statement, place):
                written = _with_caveat(name) if use.indexed else DeviceText(name)
                is_object, is_local = self.is_object(use.node), self._is_local(bindings[0])
                return written._replace(is_object=is_object, is_local=is_local), use
        return None

    def _is_local(self, binding: Binding) -> bool:
        return self._module.names.scope_at(binding.node) is not self._module.names.module

    def _names_cuda(self, _: str, bindings: list[Binding]) -> bool:
        """Whether a variable is only assigned a string or device that names CUDA."""
        return len(bindings) == 1 and bindings[0].value in self._cuda_strings and not bindings[0].path

    @cached_property
    def _cuda_strings(self) -> dict[cst.CSTNode, CudaRequest]:
        """The requests for CUDA that are strings or device objects, by node."""
        requests = self._module.shared(Hardcoded).requests.values()
        uses = (use for use in requests if not use.overridable)
        return {use.node: use for use in uses if isinstance(use.node, cst.SimpleString) or self.is_object(use.node)}

    def is_object(self, node: cst.CSTNode) -> bool:
        """Whether a node is a call of ``torch.device``."""
        return isinstance(node, cst.Call) and self._module.qualified(node.func) == "torch.device"

    def _is_tensor(self, function: cst.FunctionDef, param: cst.Param) -> bool:
        """Whether a parameter is annotated as a tensor, or used like one."""
        binding = self._module.binding_of(param.name)
        if binding is None or any(b is not binding for b in self._bindings(function, param.name.value)):
            return False
        if param.annotation is not None:
            return (dotted(param.annotation.annotation) or "").endswith("Tensor")
        return any(self._is_tensor_use(use) for use in self._module.uses(binding))

    def _bindings(self, function: cst.FunctionDef, name: str) -> list[Binding]:
        return self._module.names.scope_of(function).bindings.get(name, [])

    def _is_tensor_use(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        known = _SHAPES | TENSOR_METHODS | TENSOR_ATTRIBUTES | {"cuda"}
        return isinstance(parent, cst.Attribute) and parent.value is use and parent.attr.value in known

    # -- new devices -------------------------------------------------------------------------------

    def define(self, place: cst.CSTNode) -> DeviceText:
        """Define a device variable after the imports, under an unused name. Raises :class:`Unfixable`."""
        statement = self._speller.last_import()
        if not self._module.comes_before(statement, place) or self._module.names.star_imports():
            raise Unfixable
        name = next((name for name in _NAMES if not self._speller.is_bound(name)), None)
        if name is None:
            raise Unfixable
        torch = self._torch_name(statement)
        editor = self._module.shared(Editor)
        quoted = self._module.shared(Targets).quoted
        choice = f"{quoted('cuda', statement)} if {torch}.cuda.is_available() else {quoted('cpu', statement)}"
        line = f"{editor.newline()}{name} = {torch}.device({choice})"
        return DeviceText(name, (), (editor.insert_after(statement, line),))

    def _torch_name(self, last: cst.SimpleStatementLine) -> str:
        """The name under which the imports at the top of the module import torch. Raises :class:`Unfixable`."""
        for name, bindings in self._module.names.module.bindings.items():
            if {b.qualified for b in bindings} == {"torch"} and all(b.kind == "import" for b in bindings):
                lines = [self._module.parent(b.statement) for b in bindings]
                before = (line is last or self._module.comes_before(line, last) for line in lines if line is not None)
                if any(before) and self._module.parent(lines[0]) is self._module.tree:  # type: ignore[arg-type]
                    return name
        raise Unfixable


def _with_caveat(text: str) -> DeviceText:
    return DeviceText(text, (_OTHER_DEVICE.format(text),))
