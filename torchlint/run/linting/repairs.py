"""What to write instead of a read, a wait or a copy that was seen in a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.knowledge import forms
from torchlint.knowledge.forms import COPY, WAIT, Form
from torchlint.project.followed import SAMPLING, FollowedEvent

if TYPE_CHECKING:
    from torchlint.model import Finding

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
    "batch": "set `pin_memory=True` in the loader, and `non_blocking=True` here",
    "array": "let a `DataLoader` with pinned memory make it, and set `non_blocking=True` here",
    "constant": "its data exist before the step, so keep them on the device, if its memory has room",
    "read": "it comes from the device, so keep it there",
    "made": "create it on the device (`device=`)",
    "": "create it on the device, or copy it from pinned memory with `non_blocking=True`",
}
_MASKED = (forms.MASK_INDEX, forms.MASK_ASSIGNED)
_AT_ONCE = "do this for all of them at once, and read one result"


# Rules about copies to the device, which a function of the project may make in its own way.
_UPLOADS = ("TL103", "TL104", "TL105", "TL202", "TL207")


def with_helper(finding: Finding, helper: str) -> Finding:
    """A finding that names the project's own function as the repair, if it is about a copy to the device."""
    if not helper or finding.rule not in _UPLOADS:
        return finding
    what = finding.message.partition(": ")[0] if finding.rule != "TL207" else finding.message.rpartition(": ")[0]
    return finding._replace(message=f"{what or finding.message}: upload it with `{helper}`", fix=None)


def repair(form: Form, event: FollowedEvent) -> str:
    """The edit that fits how often it happens, what is copied, or what a value is for."""
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
