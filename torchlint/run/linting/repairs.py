"""What to write instead of a read, a wait or a copy that was seen in a step."""

from __future__ import annotations

from torchlint.knowledge import forms
from torchlint.knowledge.forms import COPY, WAIT, Form
from torchlint.project.followed import SAMPLING, FollowedEvent

_BY_USE = {
    "test": "choose on the device with `torch.where`, or test every N steps",
    "check": "let `GradScaler` skip such steps, or read it together with the loss",
    "text": "accumulate on the device, and read after the loop or every N steps",
    "kept": "accumulate on the device, and read after the loop or every N steps",
    "index": "index with the tensor itself, or compute the position on the host before the data are moved",
    "": "keep it on the device, or compute it on the host before the data are moved",
}
_STOP_TEST = "test every few steps, or one step late, for all sequences at once"
_BY_ORIGIN = {
    "computed": "move the batch itself, pinned and with `non_blocking=True`, and compute this on the device",
    "batch": "set `non_blocking=True`, which helps if a data loader with `pin_memory=True` makes it",
    "pinned": "set `non_blocking=True`, since the loader uses pinned memory",
    "pageable": "set `pin_memory=True` in the loader, and `non_blocking=True` here",
    "array": "let a `DataLoader` with pinned memory make it, and set `non_blocking=True` here",
    "constant": "its data exist before the step, so keep them on the device, if its memory has room",
    "read": "it comes from the device, so keep it there",
    "made": "create it on the device (`device=`)",
    "": "create it on the device, or copy it from pinned memory with `non_blocking=True`",
}
_ON_DEVICE = "do what is in between on the device, without both copies"
_ON_HOST = "use the value that the host has"
_MASKED = (forms.MASK_INDEX, forms.MASK_ASSIGNED)
_AT_ONCE = "do this for all of them at once, and read one result"


def repair(form: Form, event: FollowedEvent) -> str:
    """The edit that fits how often it happens, what is copied, or what a value is for."""
    if event.is_round_trip:
        return _ON_DEVICE if form.kind == COPY else _ON_HOST
    if form.advice:
        return form.advice
    if form.kind == COPY:
        return _BY_ORIGIN[event.origin]
    if any(event.loops):
        return _AT_ONCE
    if form in _MASKED:
        return "keep all elements and weight them by the mask, or select before the data are moved"
    if form.kind == WAIT:
        return ""
    return _STOP_TEST if event.use == "test" and event.phase == SAMPLING else _BY_USE[event.use]
