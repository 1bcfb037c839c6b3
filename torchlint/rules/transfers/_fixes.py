"""Fixes of moves: they are removed, or made asynchronous or blocking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, keyword, literal, method, positional, receiver
from torchlint.analysis.things.move import Moves
from torchlint.catalogue.views import CONSTRUCTORS, EVERYWHERE
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.model import Edit, Fix, Safety

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchlint.analysis.module import SourceModule

_ROUNDED = (
    "the device's kernels may round the last bits differently, the result stays on the device of the value, and "
    "without any computation in between it shares memory with that value"
)
_COPIED = "the copy has the dtype and the device of the value, which may be other ones"
_PAGED = "pinned memory is not paged out, and writing to the tensor before the copy is done would change the copy"
_LATER = "writing to a batch on the host before its copy is done would change the copy"
_OTHER_CLASS = "an object of another class may need the argument"


# -- round trips -----------------------------------------------------------------------------------


@or_none
def stay_on_device(module: SourceModule, back: cst.BaseExpression) -> Fix:
    """Copy a value on the device, or remove both moves of ``x.cpu().clamp(0, 1).to(device)``."""
    if not isinstance(back, cst.Call):
        raise Unfixable
    return (
        _copy_on_device(module, back) if module.qualified(back.func) in CONSTRUCTORS else _without_moves(module, back)
    )


def _copy_on_device(module: SourceModule, made: cst.Call) -> Fix:
    """``torch.tensor(x.item(), device=x.device)``."""
    read = positional(made, 0)
    source = receiver(read) if isinstance(read, cst.Call) and not read.args else None
    if read is None or source is None or keyword(made, "device") is None or len(made.args) != 2:
        raise Unfixable
    # A Python number becomes a tensor without dimensions, whatever the shape of the tensor it was read from.
    form = {"item": ".reshape(())", "tolist": ""}.get(method(read) or "")
    if form is None:
        raise Unfixable
    editor = module.shared(Editor)
    edit = editor.replace_inside(made, f"{editor.receiver(source)}.detach(){form}.clone()")
    return Fix("copy it on the device", Safety.UNSAFE, (edit,), _COPIED)


def _without_moves(module: SourceModule, back: cst.Call) -> Fix:
    """Remove both moves from a chain of methods."""
    moves, node = module.shared(Moves), receiver(back)
    while (move := moves.at(node) if node is not None else None) is None or not move.to_host:
        verb = method(node) if node is not None else None
        if not isinstance(node, cst.Call) or verb not in EVERYWHERE or verb.endswith("_"):
            raise Unfixable  # an in-place method would modify the original value
        node = receiver(node)
    if len(back.args) > 1 or len(move.call.args) > 1 or is_opaque(back) or move.method == "type":
        raise Unfixable
    editor = module.shared(Editor)
    edits = (editor.remove_call(move.call), editor.remove_call(back))
    return Fix("stay on the device, and remove both moves", Safety.UNSAFE, edits, _ROUNDED)


# -- batches ---------------------------------------------------------------------------------------


@or_none
def make_asynchronous(module: SourceModule, calls: Sequence[cst.BaseExpression]) -> Fix:
    """Add ``non_blocking=True`` to the moves of a batch that its loader pins."""
    edits = [edit for call in calls if isinstance(call, cst.Call) for edit in _not_waiting(module, call)]
    return Fix("move it with `non_blocking=True`", Safety.UNSAFE, tuple(edits), _LATER)


def _not_waiting(module: SourceModule, call: cst.Call) -> tuple[Edit, ...]:
    """Set ``non_blocking``, which may be given by position, after the device and the dtype of ``to``."""
    editor = module.shared(Editor)
    given = [arg.value for arg in call.args if arg.keyword is None]
    waits = [value for value in given if literal(value) is False]
    if waits:
        return (editor.replace(waits[0], "True"),)
    if len(given) > (2 if method(call) == "to" else 1):
        raise Unfixable  # a variable
    return editor.set_argument(call, "non_blocking", "True")


@or_none
def pin_from_the_start(module: SourceModule, copy: cst.BaseExpression) -> Fix:
    """Create the tensor of Python data that is copied in pinned memory."""
    made = positional(copy, 0) if method(copy) == "copy_" and isinstance(copy, cst.Call) else _origin(module, copy)
    while not isinstance(made, cst.Call) or module.qualified(made.func) != "torch.tensor":
        if made is None:
            raise Unfixable
        made = _origin(module, made)
    available = module.shared(Speller).spell("torch.cuda.is_available", made, importing=True)
    edits = module.shared(Editor).set_argument(made, "pin_memory", f"{available.text}()")
    return Fix("create it in pinned memory", Safety.UNSAFE, (*available.edits, *edits), _PAGED)


def _origin(module: SourceModule, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What a method is called on, or the last of what a variable is assigned."""
    if not isinstance(node, cst.Name):
        return receiver(node) if isinstance(node, cst.Call) else None
    bindings = [b for b in module.definitions(node) if b.kind == "assign" and not b.path]
    return bindings[-1].value if bindings else None


# -- copies to the host ----------------------------------------------------------------------------


@or_none
def make_blocking(module: SourceModule, copy: cst.BaseExpression) -> Fix:
    """Remove ``non_blocking=True`` from a copy to the host."""
    if not isinstance(copy, cst.Call) or keyword(copy, "non_blocking") is None:
        raise Unfixable
    edit = module.shared(Editor).remove_argument(copy, "non_blocking")
    return Fix("wait for the copy: remove `non_blocking=True`", Safety.UNSAFE, (edit,), _OTHER_CLASS)
