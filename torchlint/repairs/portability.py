"""TL701: CUDA by name becomes a device that falls back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.bindings import Binding, dotted
from torchlint.analysis.calls import argument, is_opaque
from torchlint.analysis.calls import receiver as receiver_of
from torchlint.analysis.portability import CudaUse, Portability
from torchlint.analysis.values import Kind
from torchlint.knowledge.portability import AUTOCAST
from torchlint.knowledge.tensors import TENSOR_ATTRIBUTES
from torchlint.knowledge.transfers import TENSOR_METHODS
from torchlint.model import Edit, Fix, Safety
from torchlint.repairs.editor import Editor, Unfixable, or_none
from torchlint.repairs.names import Speller
from torchlint.repairs.targets import Targets

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CPU = "without CUDA the code runs on the CPU, where it raised an error before"
_OTHER = "`{0}` may be another device than the current one of CUDA"
_INDEX = "the device that is used need not have this index"
_OBJECT = "an object that is neither a tensor nor a module may have no `to`"
_NAMES = ("device", "default_device", "torch_device")
_SHAPES = frozenset("shape size dim ndim device dtype new_zeros new_ones new_tensor new_empty new_full".split())


@or_none
def portable(module: SourceModule, ask: Portability, use: CudaUse, place: str | None, *, safe: bool) -> Fix:
    """Use a device that falls back to the CPU. ``safe``: the project wants to run without CUDA."""
    repair = _Repair(module, ask, use, place)
    title, edits = repair.made()
    caveats = [_CPU, *repair.caveats]
    if safe and not repair.caveats and not repair.defines:
        return Fix(title, Safety.SAFE, tuple(edits))
    return Fix(title, Safety.UNSAFE, tuple(edits), "; ".join(caveats))


class _Repair:
    """One place that names CUDA, and what may change when it does not."""

    def __init__(self, module: SourceModule, ask: Portability, use: CudaUse, place: str | None) -> None:
        self.module, self.ask, self.use, self.place = module, ask, use, place
        self.editor = module.shared(Editor)
        self.speller = module.shared(Speller)
        self.caveats: list[str] = []
        self.defines = False

    def made(self) -> tuple[str, list[Edit]]:
        node = self.use.node
        if self.use.kind == "method":
            assert isinstance(node, cst.Call)
            return self._method(node)
        if isinstance(node, cst.SimpleString):
            return self._string(node)
        if not isinstance(node, cst.Call) or self.use.kind != "device":
            raise Unfixable  # a type, or a default type, has no device to choose
        name = self.module.qualified(node.func)
        named = argument(node, "device", 0) or argument(node, "type", 0)
        if name in AUTOCAST or not isinstance(named, cst.SimpleString):
            raise Unfixable
        if name is not None:
            return self._conditional(named)
        return self._replaced(named)

    # -- `.cuda()` -------------------------------------------------------------------------------

    def _method(self, call: cst.Call) -> tuple[str, list[Edit]]:
        positional = [arg for arg in call.args if arg.keyword is None]
        if is_opaque(call) or len(positional) > 1 or not isinstance(call.func, cst.Attribute):
            raise Unfixable
        receiver = receiver_of(call)
        if self.module.value(receiver).kind not in (Kind.TENSOR, Kind.MODULE):
            self.caveats.append(_OBJECT)
        if self.use.indexed:
            self.caveats.append(_INDEX)
        device, edits = self._device(call)
        if f"{dotted(receiver)}.device" == device:
            raise Unfixable  # it would be moved to where it is
        where = argument(call, "device", 0)
        given = (self.editor.replace(where, device),) if where else self.editor.add_first_argument(call, device)
        return f"use `.to({device})`", [*edits, self.editor.replace_inside(call.func.attr, "to"), *given]

    def _replaced(self, named: cst.SimpleString) -> tuple[str, list[Edit]]:
        """``.to("cuda")``, ``device="cuda"``: another device is named."""
        if self.use.indexed:
            self.caveats.append(_INDEX)
        device, edits = self._device(named)
        return f"use `{device}`", [*edits, self.editor.replace(named, device)]

    # -- `"cuda"` --------------------------------------------------------------------------------

    def _string(self, node: cst.SimpleString) -> tuple[str, list[Edit]]:
        local = self.use.kind == "device" and (self._in_forward() or self.ask.device_in_scope(node) is not None)
        return self._replaced(node) if local else self._conditional(node)

    def _conditional(self, node: cst.SimpleString) -> tuple[str, list[Edit]]:
        """``"cuda"`` becomes ``"cuda" if torch.cuda.is_available() else "cpu"``."""
        if node.prefix or len(node.quote) != 1:
            raise Unfixable
        parent = self.module.parent(node)
        if not isinstance(parent, (cst.Arg, cst.Assign, cst.AnnAssign, cst.Param)):
            raise Unfixable
        available = self.speller.spell("torch.cuda.is_available", node)
        text = f"{node.value} if {available.text}() else {node.quote}cpu{node.quote}"
        return "fall back to the CPU", [self.editor.replace_inside(node, text)]

    # -- a device at the place -------------------------------------------------------------------

    def _in_forward(self) -> bool:
        return self.place in ("module", "function", "lightning")

    def _device(self, place: cst.CSTNode) -> tuple[str, list[Edit]]:
        """How a device that falls back is written at a place, and the edits that define it."""
        if self._in_forward():
            name = self._of_input(place)
            self.caveats.append(_OTHER.format(name))
            return name, []
        found = self.ask.device_in_scope(place)
        if found is None:
            self.defines = True
            return self._defined(place)
        if not self.ask.asks_only_for_cuda(found):
            self.caveats.append(_OTHER.format(found.name))
        return found.name, []

    def _of_input(self, place: cst.CSTNode) -> str:
        """``x.device`` of the first input of ``forward``; a Lightning module's own device."""
        around = (a for a in self.module.ancestors(place) if isinstance(a, cst.FunctionDef))
        function = next((a for a in around if a.name.value in ("forward", "training_step", "validation_step")), None)
        params = [*function.params.posonly_params, *function.params.params] if function is not None else []
        if self.place == "lightning" and params:
            return f"{params[0].name.value}.device"
        if function is None or len(params) < 2 or self.module.function_of(place) is not function:
            raise Unfixable
        if not self._is_tensor(function, params[1]):
            raise Unfixable
        return f"{params[1].name.value}.device"

    def _is_tensor(self, function: cst.FunctionDef, param: cst.Param) -> bool:
        """The input is annotated as a tensor, or used as only tensors are."""
        binding = self.module.binding_of(param.name)
        if binding is None or any(b is not binding for b in self._bindings(function, param.name.value)):
            return False
        if param.annotation is not None:
            return (dotted(param.annotation.annotation) or "").endswith("Tensor")
        return any(self._tensor_use(use) for use in self.module.uses(binding))

    def _bindings(self, function: cst.FunctionDef, name: str) -> list[Binding]:
        return self.module.names.scope_of(function).bindings.get(name, [])

    def _tensor_use(self, use: cst.Name) -> bool:
        parent = self.module.parent(use)
        known = _SHAPES | TENSOR_METHODS | TENSOR_ATTRIBUTES | {"cuda"}
        return isinstance(parent, cst.Attribute) and parent.value is use and parent.attr.value in known

    def _defined(self, place: cst.CSTNode) -> tuple[str, list[Edit]]:
        """A definition after the imports, under a name that nothing else has."""
        statement = self.speller.last_import()
        if not self.module.comes_before(statement, place):
            raise Unfixable
        name = next((name for name in _NAMES if not self.speller.is_bound(name)), None)
        if name is None or self.module.names.star_imports():
            raise Unfixable
        torch = self._torch(statement)
        quoted = self.module.shared(Targets).quoted
        choice = f"{quoted('cuda', statement)} if {torch}.cuda.is_available() else {quoted('cpu', statement)}"
        newline = self.editor.newline()
        edit = self.editor.insert_after(statement, f"{newline}{name} = {torch}.device({choice})")
        return name, [edit]

    def _torch(self, last: cst.SimpleStatementLine) -> str:
        """What the imports at the head of the module call torch."""
        for name, bindings in self.module.names.module.bindings.items():
            if {b.qualified for b in bindings} == {"torch"} and all(b.kind == "import" for b in bindings):
                lines = [self.module.parent(b.statement) for b in bindings]
                before = (line is last or self.module.comes_before(line, last) for line in lines if line is not None)
                if any(before) and self.module.parent(lines[0]) is self.module.tree:  # type: ignore[arg-type]
                    return name
        raise Unfixable
