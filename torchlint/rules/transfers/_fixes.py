"""Fixes of moves: they are removed, or made asynchronous or blocking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, keyword, literal, method, receiver
from torchlint.catalogue.views import EVERYWHERE
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.model import Edit, Fix, Safety

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._host_memory import Pageable
    from torchlint.rules.transfers._round_trips import RoundTrip

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
def stay_on_device(module: SourceModule, trip: RoundTrip) -> Fix:
    """Copy a value on the device, or remove both moves of ``x.cpu().clamp(0, 1).to(device)``."""
    if trip.read is not None:
        return _copy_on_device(module, trip)
    if method(trip.to_host) == "type":
        raise Unfixable
    return _without_moves(module, trip)


def _copy_on_device(module: SourceModule, trip: RoundTrip) -> Fix:
    editor = module.shared(Editor)
    source, device = receiver(trip.to_host), keyword(trip.to_device, "device")
    if source is None or device is None or len(trip.to_device.args) != 2 or trip.to_host.args:
        raise Unfixable
    # A Python number becomes a tensor without dimensions, whatever the shape of the tensor it was read from.
    form = ".reshape(())" if trip.read == "item" else ""
    edit = editor.replace_inside(trip.to_device, f"{editor.receiver(source)}.detach(){form}.clone()")
    return Fix("copy it on the device", Safety.UNSAFE, (edit,), _COPIED)


def _without_moves(module: SourceModule, trip: RoundTrip) -> Fix:
    """Remove both moves from a chain of methods."""
    node: cst.BaseExpression | None = receiver(trip.to_device)
    while node is not trip.to_host:
        verb = method(node) if node is not None else None
        if not isinstance(node, cst.Call) or verb not in EVERYWHERE or verb.endswith("_"):
            raise Unfixable  # an in-place method would modify the original value
        node = receiver(node)
    if len(trip.to_device.args) > 1 or len(trip.to_host.args) > 1 or is_opaque(trip.to_device):
        raise Unfixable
    editor = module.shared(Editor)
    edits = (editor.remove_call(trip.to_host), editor.remove_call(trip.to_device))
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
def pin_from_the_start(module: SourceModule, found: Pageable) -> Fix:
    """Create a tensor of Python data in pinned memory."""
    if (
        found.kind != "data"
        or not isinstance(found.call, cst.Call)
        or module.qualified(found.call.func) != "torch.tensor"
    ):
        raise Unfixable
    available = module.shared(Speller).spell("torch.cuda.is_available", found.call, importing=True)
    edits = module.shared(Editor).set_argument(found.call, "pin_memory", f"{available.text}()")
    return Fix("create it in pinned memory", Safety.UNSAFE, (*available.edits, *edits), _PAGED)


# -- copies to the host ----------------------------------------------------------------------------


@or_none
def make_blocking(module: SourceModule, move: Move) -> Fix:
    """Remove ``non_blocking=True`` from a copy to the host."""
    edit = module.shared(Editor).remove_argument(move.call, "non_blocking")
    return Fix("wait for the copy: remove `non_blocking=True`", Safety.UNSAFE, (edit,), _OTHER_CLASS)
