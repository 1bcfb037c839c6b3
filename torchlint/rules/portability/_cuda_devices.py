"""TL701: how a device that falls back is written at a place."""

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
from torchlint.rules.portability._at_hand import AtHand
from torchlint.rules.portability._hardcoded import Hardcoded

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_OTHER = "`{0}` may be a device other than the current CUDA device"
_NAMES = ("device", "default_device", "torch_device")
_SHAPES = frozenset("shape size dim ndim device dtype new_zeros new_ones new_tensor new_empty new_full".split())
FORWARD = ("module", "function", "lightning")


class Written(NamedTuple):
    """A device as it is written, what may change with it, and the edits that define it.

    ``is_object`` is false for a string, ``is_local`` true for a variable or parameter of a function.
    """

    text: str
    caveats: tuple[str, ...] = ()
    definition: tuple[Edit, ...] = ()
    is_object: bool = True
    is_local: bool = False


class CudaDevices:
    """Writes devices for the places of one module that name CUDA."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._devices = module.shared(DevicesInScope)
        self._speller = module.shared(Speller)

    # -- what is there ---------------------------------------------------------------------------

    def of_input(self, place: cst.CSTNode, kind: str) -> Written:
        """``x.device`` of the first input of ``forward``; a Lightning module's own device."""
        around = (a for a in self._module.ancestors(place) if isinstance(a, cst.FunctionDef))
        function = next((a for a in around if a.name.value in ("forward", "training_step", "validation_step")), None)
        params = [*function.params.posonly_params, *function.params.params] if function is not None else []
        if kind == "lightning" and params:
            return _like(f"{params[0].name.value}.device")
        if function is None or len(params) < 2 or self._module.function_of(place) is not function:
            raise Unfixable
        if not self._is_tensor(function, params[1]):
            raise Unfixable
        return _like(f"{params[1].name.value}.device")

    def at_hand(self, place: cst.CSTNode) -> Written | None:
        """The device of a tensor that a new one is made to go with."""
        name = self._module.shared(AtHand).tensor_for(place)
        return _like(f"{name}.device") if name is not None else None

    def in_scope(self, place: cst.CSTNode) -> Written | None:
        """A variable that falls back already."""
        found = self._devices.at(place)
        if found is None:
            return None
        written = Written(found.name) if self._devices.is_cuda_or_cpu(found) else _like(found.name)
        return written._replace(is_object=self._holds_object(found), is_local=self._is_local(found))

    def object_in_scope(self, place: cst.CSTNode) -> str | None:
        """A variable that holds a ``torch.device``: CUDA where there is CUDA, and else the CPU."""
        found = self._devices.at(place)
        if found is None or not self._devices.is_cuda_or_cpu(found):
            return None
        return found.name if self._holds_object(found) else None

    def _holds_object(self, binding: Binding) -> bool:
        """A ``torch.device``, and not a string that names one."""
        if self._module.evaluator.bound(binding).kind is not Kind.DEVICE:
            return False
        value = binding.value
        chosen = (value.body, value.orelse) if isinstance(value, cst.IfExp) else ()
        return not any(isinstance(side, cst.SimpleString) for side in chosen)

    def converted_in_scope(self, place: cst.CSTNode) -> tuple[Written, CudaRequest] | None:
        """A variable that names CUDA itself, and will fall back as soon as that place is repaired."""
        for name, bindings in visible_names(self._module, place, self._is_named):
            use = self._named[bindings[0].value]  # type: ignore[index]
            if use.node is place:
                continue
            if dominates(self._module, bindings[0].statement, place):
                written = _like(name) if use.indexed else Written(name)
                is_object, is_local = self.is_object(use.node), self._is_local(bindings[0])
                return written._replace(is_object=is_object, is_local=is_local), use
        return None

    def _is_local(self, binding: Binding) -> bool:
        return self._module.names.scope_at(binding.node) is not self._module.names.module

    def _is_named(self, _: str, bindings: list[Binding]) -> bool:
        """A name is given nothing but such a string or device."""
        return len(bindings) == 1 and bindings[0].value in self._named and not bindings[0].path

    @cached_property
    def _named(self) -> dict[cst.CSTNode, CudaRequest]:
        """The strings and device objects that name CUDA."""
        requests = self._module.shared(Hardcoded).requests.values()
        uses = (use for use in requests if not use.overridable)
        return {use.node: use for use in uses if isinstance(use.node, cst.SimpleString) or self.is_object(use.node)}

    def is_object(self, node: cst.CSTNode) -> bool:
        """``torch.device(..)``."""
        return isinstance(node, cst.Call) and self._module.qualified(node.func) == "torch.device"

    def _is_tensor(self, function: cst.FunctionDef, param: cst.Param) -> bool:
        """The input is annotated as a tensor, or used as only tensors are."""
        binding = self._module.binding_of(param.name)
        if binding is None or any(b is not binding for b in self._bindings(function, param.name.value)):
            return False
        if param.annotation is not None:
            return (dotted(param.annotation.annotation) or "").endswith("Tensor")
        return any(self._tensor_use(use) for use in self._module.uses(binding))

    def _bindings(self, function: cst.FunctionDef, name: str) -> list[Binding]:
        return self._module.names.scope_of(function).bindings.get(name, [])

    def _tensor_use(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        known = _SHAPES | TENSOR_METHODS | TENSOR_ATTRIBUTES | {"cuda"}
        return isinstance(parent, cst.Attribute) and parent.value is use and parent.attr.value in known

    # -- what is defined -------------------------------------------------------------------------

    def defined(self, place: cst.CSTNode) -> Written:
        """A definition after the imports, under a name that nothing else has."""
        statement = self._speller.last_import()
        if not self._module.comes_before(statement, place) or self._module.names.star_imports():
            raise Unfixable
        name = next((name for name in _NAMES if not self._speller.is_bound(name)), None)
        if name is None:
            raise Unfixable
        torch = self._torch(statement)
        editor = self._module.shared(Editor)
        quoted = self._module.shared(Targets).quoted
        choice = f"{quoted('cuda', statement)} if {torch}.cuda.is_available() else {quoted('cpu', statement)}"
        line = f"{editor.newline()}{name} = {torch}.device({choice})"
        return Written(name, (), (editor.insert_after(statement, line),))

    def _torch(self, last: cst.SimpleStatementLine) -> str:
        """What the imports at the head of the module call torch."""
        for name, bindings in self._module.names.module.bindings.items():
            if {b.qualified for b in bindings} == {"torch"} and all(b.kind == "import" for b in bindings):
                lines = [self._module.parent(b.statement) for b in bindings]
                before = (line is last or self._module.comes_before(line, last) for line in lines if line is not None)
                if any(before) and self._module.parent(lines[0]) is self._module.tree:  # type: ignore[arg-type]
                    return name
        raise Unfixable


def _like(text: str) -> Written:
    return Written(text, (_OTHER.format(text),))
