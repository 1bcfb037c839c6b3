"""What to write instead of a read, a wait or a copy that was seen in a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.catalogue.views import COUNTING
from torchlint.knowledge import forms
from torchlint.knowledge.forms import COPY, READ, WAIT, Form
from torchlint.project.followed import FOREIGN, SAME, SAMPLING, FollowedEvent

if TYPE_CHECKING:
    from torchlint.model import Finding

_BY_USE = {
    "test": "choose on the device with `torch.where`, or test every N steps",
    "backward": "keep a flag on the host of whether there is anything to go backward from, and test that",
    "check": "check every N steps, let `GradScaler` skip such steps, or read it together with the loss",
    "needed": "",
    "stop": "test every N iterations, or run a fixed number of them",
    "size": "compute this size on the host, from what it is made of, before that is moved (`max(map(len, rows))`)",
    "index": "index with the tensor itself, or compute the position on the host before the data are moved",
    "selects": "select on the device, if that is where the rest is, or compute the mask before the data are moved",
    "kept": "accumulate on the device, and read after the loop or every N steps",
    "text": "accumulate on the device, and read after the loop or every N steps",
    "returned": "return the tensor itself, and read after the loop or every N steps",
    "device": "it goes back to the device: keep it there",
    "handed on": "",
    "measured": "",
    "picture": "the value is only drawn, which takes much longer than the wait",
    "nothing": "nothing uses the result: delete it, unless the wait itself is needed",
    "": "keep it on the device, or compute it on the host before the data are moved",
}
_FOR_ITSELF = ("device", "picture", "nothing")  # uses that say more than how often it happens
_BY_COUNT = {
    "mask": "keep all elements and weight them by the mask, or select before the data are moved",
    "indices": "use the mask itself (`torch.where` with three arguments, `masked_fill`), which needs no size",
    "unique": "compute them before the data are moved, for example in the dataset",
    "repeat": "pass `output_size`, if the host knows the sum",
    "bins": "add ones into a tensor of known size with `scatter_add_`",
}
_STOP_TEST = "test every few steps, or one step late, for all sequences at once"
_BY_ORIGIN = {
    "computed": "move the batch itself, pinned and with `non_blocking=True`, and compute this on the device",
    "batch": "set `non_blocking=True`, which helps if a data loader with `pin_memory=True` makes it",
    "loaded": "set `pin_memory=True` in {loader} and `non_blocking=True` here: neither helps without the other",
    "pinned": "set `non_blocking=True`, since the loader uses pinned memory",
    "pageable": "set `pin_memory=True` in the loader, and `non_blocking=True` here",
    "array": "let a `DataLoader` with pinned memory make it, and set `non_blocking=True` here",
    SAME: "move it once, where it is created (in a model with `register_buffer`) or before the loop",
    "constant": "its data exist before the step, so keep them on the device (`register_buffer`), if there is room",
    "drawn": "create it on the device (`device=`), whose own generator gives other numbers",
    "generated": "create it on the device with a factory of torch (`device=`)",
    "fixed": "create it on the device (`device=`), and only once if nothing writes to it",
    "number": "write the number itself, or fill it in on the device with `torch.full`",
    "numbers": "copy them from pinned memory with `non_blocking=True`, if the device cannot compute them",
    "constant numbers": "the numbers never change: make the tensor once (in a model with `register_buffer`)",
    "data": "make it in the workers of a loader, or copy it from pinned memory with `non_blocking=True`",
    "read": "it comes from the device, so keep it there",
    "made": "create it on the device (`device=`)",
    FOREIGN: "a function that is not of this project writes it on the host, so only pinned memory makes this faster",
    "": "create it on the device, or copy it from pinned memory with `non_blocking=True`",
}
_PINNED = {  # by what is not
    "data": "create it by `torch.tensor(.., pin_memory=True)`",
    "few": "create it by `torch.tensor(.., pin_memory=True)`",
    "array": "fill a pinned tensor (`torch.empty(.., pin_memory=True)`) that is kept between steps",
    "batch": "move the parts first, and join them on the device",
    "tensors": "compute it on the device, or into a pinned tensor, `out=torch.empty(.., pin_memory=True)`",
    "converted": "convert it on the device, after the copy",
    "read": "keep it on the device, or copy it to pinned memory",
    "strided": "copy whole rows, and take the view on the device",
}
_ON_DEVICE = "do what is in between on the device, without both copies"
_ON_HOST = "use the value that the host has"
_MASKED = (forms.MASK_INDEX, forms.MASK_ASSIGNED)
_UNCHECKED = {
    **dict.fromkeys(("inverse", "inv"), "`torch.linalg.inv_ex` does not wait, and gives the error as a tensor"),
    "cholesky": "`torch.linalg.cholesky_ex` does not wait, and gives the error as a tensor",
    "solve": "`torch.linalg.solve_ex` does not wait, and gives the error as a tensor",
}
_AT_ONCE = "do this for all of them at once, and read one result"
_ALL_READ = "read all of them at once, with `.tolist()` or `.cpu()` before the loop, or one result after it"
_NORM = "compute on the device, for example with `torch.nn.utils.get_total_norm`, and read one result"


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
    if event.is_round_trip:
        return _ON_DEVICE if form.kind == COPY else _ON_HOST
    if form.advice and not (event.loops and form.kind == READ):
        return form.advice
    if form is forms.PAGEABLE and event.origin in _PINNED:
        return _PINNED[event.origin]
    if form is forms.BLOCKING and event.origin in ("batch", "pageable") and event.other[1]:
        return _BY_ORIGIN["loaded"].format(loader=f"the loader on {place_of(event.other)}")
    if form.kind == COPY:
        return _BY_ORIGIN[event.origin]
    if event.use in _FOR_ITSELF or (event.use == "stop" and event.phase != SAMPLING):
        return _BY_USE[event.use]
    if event.loops:
        return _of_loops(form, event.loops)
    if form in _MASKED:
        return _BY_COUNT["mask"]
    if form.kind == WAIT:
        counted = COUNTING.get(_called(event))
        return _BY_COUNT.get(counted.kind if counted is not None else "", _UNCHECKED.get(_called(event), ""))
    return _STOP_TEST if event.use in ("test", "stop") and event.phase == SAMPLING else _BY_USE[event.use]


def place_of(place: tuple[str, int]) -> str:
    """A place in words."""
    path, line = place
    return f"{path}:{line}" if path else f"line {line}"


def unpinned(event: FollowedEvent) -> str:
    """Why a copy starts from pageable memory."""
    if event.origin == "strided":
        return "the elements of this view of a pinned buffer are not adjacent"
    what = "this conversion" if event.origin == "converted" else f"the result of `{event.what}`"
    return f"{what} is not pinned"


def _called(event: FollowedEvent) -> str:
    """The function or method that waits, which is written in backquotes."""
    return event.what.strip("`").partition("(")[0].rpartition(".")[2]


def _of_loops(form: Form, loops: tuple[str, ...]) -> str:
    """What to do in loops inside of a step, by what they run over."""
    if any("parameters(" in over for over in loops):
        return _NORM
    return _ALL_READ if form.kind == READ and not form.rules[0].startswith("TL303") else _AT_ONCE
