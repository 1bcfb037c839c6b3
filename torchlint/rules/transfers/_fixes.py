"""Fixes of moves: they are removed, or made asynchronous or blocking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import is_opaque, keyword, literal, method, positional, receiver
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.things.lifetime import reads_no_elements
from torchlint.analysis.things.loader import Loaders
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
import re

OUT_OF_SIGHT = re.compile("x^")
from torchlint.knowledge.transfers import TENSOR_METHODS
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.transfers._iterated import iterated

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._blocking import Upload
    from torchlint.rules.transfers._host_memory import Pageable
    from torchlint.rules.transfers._round_trips import RoundTrip

_ROUNDED = (
    "the device's kernels may round the last bits differently, the result stays on the device of the value, and "
    "without any computation in between it shares memory with that value"
)
_DTYPE = "a dtype other than float32, int64 and bool is kept, instead of the default dtype of a Python number"
_EMPTY = "an empty tensor keeps its shape and dtype"
_OTHER_DEVICE = "the copy is made on the device of the value, which may be a different one"
_PINNED = "pinned memory is not paged out, and writing to the tensor before the copy is done would change the copy"
_OWN_METHODS = "an object that is not a plain tensor may have methods of its own, which do something else"
_ASYNC = (
    "an asynchronous copy reads its source later: writes to the source in the meantime change the copy, and devices "
    "other than CUDA (MPS, XPU) do not protect the source"
)
_PERHAPS = "nothing is gained unless the loader pins memory"


# -- round trips -----------------------------------------------------------------------------------


@or_none
def stay_on_device(module: SourceModule, trip: RoundTrip) -> Fix:
    """Copy a value on the device, or remove both moves of ``x.cpu().clamp(0, 1).to(device)``."""
    if trip.read is not None and isinstance(trip.to_host, cst.Call) and positional(trip.to_device, 0) is trip.to_host:
        return _copy_on_device(module, trip)
    if trip.read is None and trip.direct and not trip.uses_numpy and method(trip.to_host) != "type":
        return _without_moves(module, trip)
    raise Unfixable


def _copy_on_device(module: SourceModule, trip: RoundTrip) -> Fix:
    editor = module.shared(Editor)
    source, device = receiver(trip.to_host), keyword(trip.to_device, "device")
    if source is None or device is None or len(trip.to_device.args) != 2 or trip.to_host.args:
        raise Unfixable
    caveats = [] if module.is_plain_tensor(source) else [_OWN_METHODS]
    dtype = module.value(source).dtype
    differs = dtype == "float32" and module.shared(Defaults).dtype_may_differ(trip.to_device)
    if dtype not in ("float32", "int64", "bool") or differs:
        caveats.append(_DTYPE)
    same = isinstance(device, cst.Attribute) and device.attr.value == "device" and dotted(device.value) is not None
    if not same or dotted(device.value) != dotted(source):  # type: ignore[attr-defined]
        caveats.append(_OTHER_DEVICE)
    # A Python number becomes a tensor without dimensions, whatever the shape of the tensor it was read from.
    form = ".reshape(())" if trip.read == "item" else ""
    if trip.read == "tolist":
        caveats.append(_EMPTY)
    edit = editor.replace_inside(trip.to_device, f"{editor.receiver(source)}.detach(){form}.clone()")
    caveat = "; ".join(caveats) or None
    return Fix("copy it on the device", Safety.UNSAFE if caveat else Safety.SAFE, (edit,), caveat)


def _without_moves(module: SourceModule, trip: RoundTrip) -> Fix:
    """Remove both moves from a chain of methods."""
    node: cst.BaseExpression | None = receiver(trip.to_device)
    while node is not trip.to_host:
        verb = method(node) if node is not None else None
        if not isinstance(node, cst.Call) or verb not in TENSOR_METHODS or verb.endswith("_"):
            raise Unfixable  # an in-place method would modify the original value
        node = receiver(node)
    if len(trip.to_device.args) > 1 or len(trip.to_host.args) > 1 or is_opaque(trip.to_device):
        raise Unfixable
    editor = module.shared(Editor)
    edits = (editor.remove_call(trip.to_host), editor.remove_call(trip.to_device))
    return Fix("stay on the device, and remove both moves", Safety.UNSAFE, edits, _ROUNDED)


# -- batches ---------------------------------------------------------------------------------------


@or_none
def make_asynchronous(module: SourceModule, uploads: list[Upload]) -> Fix:
    """Add ``non_blocking=True`` to the moves of a batch, except from memory that is known not to be pinned."""
    useful = [upload for upload in uploads if upload.pinned is not False]
    if not useful:
        raise Unfixable  # the copy would block as before
    edits = tuple(edit for upload in useful for edit in _not_waiting(module, upload.move.call))
    title = "move it with `non_blocking=True`"
    if all(_is_protected(module, upload) for upload in useful):
        return Fix(title, Safety.SAFE, edits)
    caveat = _ASYNC if all(upload.pinned for upload in useful) else f"{_ASYNC}; {_PERHAPS}"
    return Fix(title, Safety.UNSAFE, edits, caveat)


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


def _is_protected(module: SourceModule, upload: Upload) -> bool:
    """Whether the copy goes to CUDA, and no other code can modify its source, which a DataLoader has allocated."""
    if upload.batch is None:
        return False
    source, loops = upload.move.moved, [source.statement for source in upload.batch.sources]
    loop = loops[0]
    if not upload.move.to_cuda or not isinstance(source, cst.Name) or not isinstance(loop, cst.For) or loops[1:]:
        return False
    if "Stream" in module.text or ".stream(" in module.text:
        return False  # another stream might read the copy too early
    if OUT_OF_SIGHT.search(module.text):
        return False  # the batch may be passed on
    if module.has_own_moves:
        return False  # collation keeps mappings of other classes, whose methods may not take the argument
    bindings = module.definitions(source)
    whole = len(bindings) == 1 and bindings[0].kind == "loop" and bindings[0].statement is loop
    return whole and _iterates_torch_loader(module, loop) and _is_only_moved(module, bindings[0], source)


def _iterates_torch_loader(module: SourceModule, loop: cst.For) -> bool:
    """Whether a loop iterates over torch's own loader with default collation, which allocates new tensors."""
    made = iterated(module, loop.iter)
    return bool(made) and all(isinstance(call, cst.Call) and _collates_by_default(module, call) for call in made)


def _collates_by_default(module: SourceModule, made: cst.Call) -> bool:
    loader = module.shared(Loaders).at(made)
    if loader is None or loader.derived or is_opaque(made):
        return False
    return loader.default_collation and loader.makes_batches


def _is_only_moved(module: SourceModule, binding: Binding, source: cst.Name) -> bool:
    """Whether the batch on the host is used only for its shape and for moves."""
    uses = [use for use in module.uses(binding) if use is not source]
    return all(reads_no_elements(module, use) or _is_move_or_size(module, use) for use in uses)


def _is_move_or_size(module: SourceModule, use: cst.Name) -> bool:
    attribute = module.parent(use)
    if not isinstance(attribute, cst.Attribute) or not isinstance(module.parent(attribute), cst.Call):
        return False
    return attribute.attr.value in ("to", "cuda", "size", "dim", "numel")


@or_none
def pin_from_the_start(module: SourceModule, found: Pageable) -> Fix:
    """Create a tensor of Python data in pinned memory."""
    if found.kind != "data" or module.qualified(found.call.func) != "torch.tensor":
        raise Unfixable
    available = module.shared(Speller).spell("torch.cuda.is_available", found.call, importing=True)
    edits = module.shared(Editor).set_argument(found.call, "pin_memory", f"{available.text}()")
    return Fix("create it in pinned memory", Safety.UNSAFE, (*available.edits, *edits), _PINNED)


# -- copies to the host ----------------------------------------------------------------------------


@or_none
def make_blocking(module: SourceModule, move: Move) -> Fix:
    """Remove ``non_blocking=True`` from a copy to the host."""
    edit = module.shared(Editor).remove_argument(move.call, "non_blocking")
    caveat = _OWN_METHODS if module.has_own_moves and not module.is_plain_tensor(receiver(move.call)) else None
    safety = Safety.UNSAFE if caveat else Safety.SAFE
    return Fix("wait for the copy: remove `non_blocking=True`", safety, (edit,), caveat)
