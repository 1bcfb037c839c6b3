"""TL201 and TL202: transfers that are dropped, or made asynchronous."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import is_opaque, keyword, method, positional, receiver
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.things.lifetime import reads_no_elements
from torchlint.analysis.things.loader import Loaders
from torchlint.analysis.values.sources import sources
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.knowledge.tensors import TRANSPARENT_ITERATORS
from torchlint.knowledge.transfers import TENSOR_METHODS
from torchlint.model import Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.transfers._blocking import Upload
    from torchlint.rules.transfers._round_trips import RoundTrip

_KERNELS = (
    "the device's kernels may round the last bits differently, the result stays on the device of the value, and "
    "without any computation in between it shares memory with that value"
)
_DTYPE = "a dtype other than float32, int64 and bool is kept, instead of the default dtype of a Python number"
_EMPTY = "an empty tensor keeps its shape and dtype"
_ELSEWHERE = "the copy is made on the device of the value, which may be a different one"
_ASYNC = (
    "an asynchronous copy reads its source later: writes to the source in the meantime change the copy, and devices "
    "other than CUDA (MPS, XPU) do not protect the source"
)


# -- round trips -----------------------------------------------------------------------------------


@or_none
def stay_on_device(module: SourceModule, trip: RoundTrip) -> Fix:
    """``torch.tensor(x.item(), device=x.device)`` is a copy; ``x.cpu().clamp(0, 1).to(d)`` needs neither move."""
    if trip.read is not None and isinstance(trip.down, cst.Call) and positional(trip.up, 0) is trip.down:
        return _copied(module, trip)
    if trip.read is None and trip.direct and not trip.arrays:
        return _without_moves(module, trip)
    raise Unfixable


def _copied(module: SourceModule, trip: RoundTrip) -> Fix:
    editor = module.shared(Editor)
    source, device = receiver(trip.down), keyword(trip.up, "device")
    if source is None or device is None or len(trip.up.args) != 2 or trip.down.args:
        raise Unfixable
    caveats = []
    dtype = module.value(source).dtype
    differs = dtype == "float32" and module.shared(Defaults).dtype_may_differ(trip.up)
    if dtype not in ("float32", "int64", "bool") or differs:
        caveats.append(_DTYPE)
    same = isinstance(device, cst.Attribute) and device.attr.value == "device" and dotted(device.value) is not None
    if not same or dotted(device.value) != dotted(source):  # type: ignore[attr-defined]
        caveats.append(_ELSEWHERE)
    # One number has no dimensions, whatever the tensor has that holds it.
    form = ".reshape(())" if trip.read == "item" else ""
    if trip.read == "tolist":
        caveats.append(_EMPTY)
    edit = editor.replace_inside(trip.up, f"{editor.receiver(source)}.detach(){form}.clone()")
    caveat = "; ".join(caveats) or None
    return Fix("copy it on the device", Safety.UNSAFE if caveat else Safety.SAFE, (edit,), caveat)


def _without_moves(module: SourceModule, trip: RoundTrip) -> Fix:
    """Both moves are dropped from a chain of methods."""
    node: cst.BaseExpression | None = receiver(trip.up)
    while node is not trip.down:
        verb = method(node) if node is not None else None
        if not isinstance(node, cst.Call) or verb not in TENSOR_METHODS or verb.endswith("_"):
            raise Unfixable  # what works in place would change the value itself
        node = receiver(node)
    if len(trip.up.args) > 1 or len(trip.down.args) > 1 or is_opaque(trip.up):
        raise Unfixable
    editor = module.shared(Editor)
    edits = (editor.remove_call(trip.down), editor.remove_call(trip.up))
    return Fix("stay on the device, and remove both moves", Safety.UNSAFE, edits, _KERNELS)


# -- batches ---------------------------------------------------------------------------------------


@or_none
def asynchronous(module: SourceModule, uploads: list[Upload]) -> Fix:
    """Add ``non_blocking=True`` to the moves of a batch."""
    editor = module.shared(Editor)
    edits = [edit for upload in uploads for edit in editor.set_argument(upload.move.call, "non_blocking", "True")]
    safe = all(_is_protected(module, upload) for upload in uploads)
    title = "move it with `non_blocking=True`"
    return Fix(title, Safety.SAFE, tuple(edits)) if safe else Fix(title, Safety.UNSAFE, tuple(edits), _ASYNC)


def _is_protected(module: SourceModule, upload: Upload) -> bool:
    """The copy goes to CUDA, and no other code can reach the tensor that a DataLoader has just made for it."""
    source, loop = upload.move.moved, upload.batch.statement
    if not upload.move.to_cuda or not isinstance(source, cst.Name) or not isinstance(loop, cst.For):
        return False
    if "Stream" in module.text or ".stream(" in module.text:
        return False  # another stream might read the copy before it is there
    bindings = module.definitions(source)
    whole = len(bindings) == 1 and bindings[0].kind == "loop" and bindings[0].statement is loop
    return whole and _from_torch(module, loop) and _only_moved(module, bindings[0], source)


def _from_torch(module: SourceModule, loop: cst.For) -> bool:
    """The loop runs over torch's own loader, whose default collation makes new tensors of every batch."""
    made = _looped_over(module, loop.iter)
    return bool(made) and all(isinstance(call, cst.Call) and _collates(module, call) for call in made)


def _looped_over(module: SourceModule, iterable: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What may stand behind an iterable, through ``enumerate`` and ``tqdm``."""
    found = sources(module.evaluator, iterable)
    inner = [call for call in found if isinstance(call, cst.Call) and _hands_on(module, call)]
    if not inner:
        return found
    return _looped_over(module, inner[0].args[0].value) if len(found) == 1 else []


def _hands_on(module: SourceModule, call: cst.Call) -> bool:
    name = module.qualified(call.func)
    known = name == "builtins.enumerate" or name in TRANSPARENT_ITERATORS
    return known and bool(call.args) and call.args[0].keyword is None and not call.args[0].star


def _collates(module: SourceModule, made: cst.Call) -> bool:
    loader = module.shared(Loaders).at(made)
    plain = loader is not None and not loader.derived and not is_opaque(made)
    return plain and loader.default_collation and loader.makes_batches  # type: ignore[union-attr]


def _only_moved(module: SourceModule, binding: Binding, source: cst.Name) -> bool:
    """The batch on the host is read for nothing but its shape and the moves."""
    return all(use is source or reads_no_elements(module, use) or _is_move(module, use) for use in module.uses(binding))


def _is_move(module: SourceModule, use: cst.Name) -> bool:
    attribute = module.parent(use)
    called = isinstance(attribute, cst.Attribute) and isinstance(module.parent(attribute), cst.Call)
    return called and attribute.attr.value in ("to", "cuda", "size", "dim", "numel")  # type: ignore[union-attr]
