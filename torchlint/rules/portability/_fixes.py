"""Fixes of TL701, which give code a device with a fallback to the CPU, and of TL702.

Moves and ``device=`` use a device that there is already, or a variable that is defined after the imports. Where CUDA
itself is assigned, returned or the default of an option, it becomes ``"cuda" if torch.cuda.is_available() else "cpu"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates, visible_names
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, method, receiver
from torchlint.analysis.things.cuda.device_in_scope import DevicesInScope
from torchlint.analysis.things.cuda.needs import CudaNeeds
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.targets import Targets
from torchlint.knowledge.tensors import TENSOR_USES
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.portability._attribute_devices import AttributeDevices
from torchlint.rules.portability._hardcoded import Hardcoded

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding
    from torchlint.analysis.things.cuda.request import CudaRequest

_CPU = "without CUDA the code runs on the CPU instead of raising an error, and the GPU may be another one than before"
_LOADED = "the loaded tensors are on the CPU, wherever else they are used"
_DEFINITIONS = (cst.Assign, cst.AnnAssign, cst.Return)
_NAMES = ("device", "default_device", "torch_device")


@or_none
def portable(module: SourceModule, use: CudaRequest) -> Fix:
    """Use a device that falls back to the CPU."""
    if use.kind in ("autocast", "type") or _is_default_argument(module, use):
        raise Unfixable
    if not use.overridable and module.shared(CudaNeeds).needed_around(use.node):
        raise Unfixable
    if use.overridable or _defines(module, use):
        return Fix("fall back to the CPU", Safety.UNSAFE, (_choice(module, use.node),), _CPU)
    text, definition = _device(module, use.node)
    if use.kind == "method":
        assert isinstance(use.node, cst.Call)
        edits = _moved(module, use.node, text)
        return Fix(f"use `.to({text})`", Safety.UNSAFE, (*definition, *edits), _CPU)
    edit = module.shared(Editor).replace(_replaced(module, use.node), text)
    return Fix(f"use `{text}`", Safety.UNSAFE, (*definition, edit), _CPU)


@or_none
def to_host(module: SourceModule, load: cst.Call) -> Fix:
    """Load a checkpoint to the CPU."""
    edits = module.shared(Editor).add_argument(load, 'map_location="cpu"')
    return Fix('pass `map_location="cpu"`', Safety.UNSAFE, edits, _LOADED)


# -- definitions and defaults ----------------------------------------------------------------------


def _is_default_argument(module: SourceModule, use: CudaRequest) -> bool:
    """Whether a request is computed when its function or class is defined, as the default of an argument."""
    if any(isinstance(around, cst.Param) for around in module.ancestors(use.node)):
        return True
    return use.overridable and module.class_of(use.node) is not None and module.function_of(use.node) is None


def _defines(module: SourceModule, use: CudaRequest) -> bool:
    """Whether a request is assigned or returned: ``DEVICE = "cuda"``, ``return torch.device("cuda")``."""
    return isinstance(module.parent(use.node), _DEFINITIONS) and _name(module, use.node) is not None


def _name(module: SourceModule, node: cst.CSTNode) -> cst.SimpleString | None:
    """The string in ``"cuda"`` or ``torch.device("cuda")``, or None for other nodes."""
    if isinstance(node, cst.Call) and module.qualified(node.func) == "torch.device":
        node = argument(node, "device", 0) or argument(node, "type", 0) or node
    return node if isinstance(node, cst.SimpleString) else None


def _choice(module: SourceModule, node: cst.CSTNode) -> Edit:
    named = _name(module, node)
    if named is None or named.prefix or len(named.quote) != 1:
        raise Unfixable
    if not isinstance(module.parent(named), (cst.Arg, *_DEFINITIONS)):
        raise Unfixable
    available = module.shared(Speller).spell("torch.cuda.is_available", named)
    text = f"{named.value} if {available.text}() else {named.quote}cpu{named.quote}"
    return module.shared(Editor).replace_inside(named, text)


# -- moves and device arguments --------------------------------------------------------------------


def _moved(module: SourceModule, call: cst.Call, device: str) -> tuple[Edit, ...]:
    """Turn ``x.cuda()`` into ``x.to(device)``."""
    placed = [arg for arg in call.args if arg.keyword is None]
    if is_opaque(call) or len(placed) > 1 or not isinstance(call.func, cst.Attribute):
        raise Unfixable
    moved = receiver(call)
    if f"{dotted(moved)}.device" == device:
        raise Unfixable  # the tensor would be moved to its own device
    if module.value(moved).kind is Kind.MODULE and keyword(call, "non_blocking") is not None:
        raise Unfixable  # `cuda` of a module rejects this argument, `to` accepts it
    editor, where = module.shared(Editor), argument(call, "device", 0)
    given = (editor.replace(where, device),) if where is not None else editor.add_first_argument(call, device)
    return editor.replace_inside(call.func.attr, "to"), *given


def _replaced(module: SourceModule, node: cst.CSTNode) -> cst.BaseExpression:
    """What a device is written instead of: the string, or ``torch.device("cuda")`` where a device is an argument."""
    if not isinstance(node, cst.Call):
        assert isinstance(node, cst.SimpleString)
        return node
    around = module.parent(node)
    call = module.parent(around) if isinstance(around, cst.Arg) else None
    if module.qualified(node.func) == "torch.device" and isinstance(call, cst.Call) and isinstance(around, cst.Arg):
        if method(call) == "to" or (around.keyword is not None and around.keyword.value == "device"):
            return node
        if len(node.args) > 1:
            raise Unfixable
    named = argument(node, "device", 0) or argument(node, "type", 0)
    if not isinstance(named, cst.SimpleString):
        raise Unfixable
    return named


# -- devices ---------------------------------------------------------------------------------------


def _device(module: SourceModule, place: cst.CSTNode) -> tuple[str, tuple[Edit, ...]]:
    """A device that can replace CUDA at a place, and the edits that define it. Raises :class:`Unfixable`."""
    kind = module.shared(Hardcoded).in_forward(place)
    if kind in ("module", "function", "lightning"):
        return _of_argument(module, place, 0 if kind == "lightning" else 1), ()
    found = module.shared(DevicesInScope).at(place)
    name = found.name if found is not None else _converted(module, place)
    if name is not None:
        return name, ()
    attribute = module.shared(AttributeDevices).at(place)
    return (module.code(attribute), ()) if attribute is not None else _defined(module, place)


def _of_argument(module: SourceModule, place: cst.CSTNode, number: int) -> str:
    """The device of ``self`` in a Lightning module, or else of the input of ``forward``."""
    function = module.function_of(place)
    if function is None or function.name.value not in ("forward", "training_step", "validation_step"):
        raise Unfixable  # a function inside
    params = function.params.params
    binding = module.binding_of(params[number].name) if len(params) > number else None
    if binding is None or (number and not _is_tensor(module, binding)):
        raise Unfixable
    return f"{binding.name}.device"


def _is_tensor(module: SourceModule, input_: Binding) -> bool:
    """Whether an input is a tensor by its annotation, or is used like one."""
    if module.evaluator.bound(input_).kind is Kind.TENSOR:
        return True
    around = map(module.parent, module.uses(input_))
    return any(isinstance(one, cst.Attribute) and one.attr.value in TENSOR_USES for one in around)


def _converted(module: SourceModule, place: cst.CSTNode) -> str | None:
    """A variable in scope that names CUDA, and falls back to the CPU once its own definition is fixed, or None."""
    requests = module.shared(Hardcoded).requests.values()
    defining = {use.node for use in requests if not use.overridable and _defines(module, use)}

    def falls_back(_: str, bindings: list[Binding]) -> bool:
        return len(bindings) == 1 and bindings[0].value in defining and not bindings[0].path

    found = visible_names(module, place, falls_back)
    return next((name for name, [binding] in found if dominates(module, binding.statement, place)), None)


def _defined(module: SourceModule, place: cst.CSTNode) -> tuple[str, tuple[Edit, ...]]:
    """Define a device after the imports, under an unused name."""
    speller, editor = module.shared(Speller), module.shared(Editor)
    last = speller.last_import()
    name = next((name for name in _NAMES if not speller.is_bound(name)), None)
    if name is None or not module.comes_before(last, place) or module.names.star_imports():
        raise Unfixable
    after = module.tree.body[list(module.tree.body).index(last) + 1]
    device, available = (speller.spell(one, after).text for one in ("torch.device", "torch.cuda.is_available"))
    cuda, cpu = (module.shared(Targets).quoted(one, last) for one in ("cuda", "cpu"))
    line = f"{editor.newline()}{name} = {device}({cuda} if {available}() else {cpu})"
    return name, (editor.insert_after(last, line),)
