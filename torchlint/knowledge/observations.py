"""What recordings of runs show: the kinds of events, in words, with the topics of rules about them and advice."""

from __future__ import annotations

from typing import NamedTuple


class EventKind(NamedTuple):
    """A kind of event: what one of them and several are called, the topics that report it, and what to do about it."""

    one: str
    many: str
    topics: tuple[str, ...]
    advice: str


KINDS = {
    "wait": EventKind(
        "wait for the device",
        "waits for the device",
        ("synchronization", "transfers", "copies", "precision"),
        "read values of tensors less often than in every step, or after the step is launched",
    ),
    "read": EventKind(
        "read of a tensor's value",
        "reads of a tensor's value",
        ("synchronization", "transfers"),
        "on a GPU each of them waits for the device: keep the value in a tensor",
    ),
    "pageable-upload": EventKind(
        "copy to the device from pageable memory",
        "copies to the device from pageable memory",
        ("transfers", "loading", "copies"),
        "pin the memory (a DataLoader has pin_memory=True), and copy with non_blocking=True",
    ),
    "blocking-upload": EventKind(
        "copy to the device that the host waits for",
        "copies to the device that the host waits for",
        ("transfers", "loading", "copies"),
        "copy from pinned memory with non_blocking=True, or make the tensor on the device",
    ),
    "pageable-download": EventKind(
        "copy from the device to pageable memory",
        "copies from the device to pageable memory",
        ("synchronization", "transfers", "copies"),
        "copy less often, or everything at once",
    ),
    "data": EventKind(
        "wait for data",
        "waits for data",
        ("loading",),
        "give the DataLoader more workers, or less work for each sample",
    ),
    "idle": EventKind(
        "gap of the GPU",
        "gaps of the GPU",
        (),  # the line that ends a gap is hardly ever its cause
        "the GPU had nothing to do until this line gave it work: look for what the host did before it",
    ),
    "graph-break": EventKind(
        "graph break",
        "graph breaks",
        ("compile", "synchronization"),
        "rewrite it so that torch.compile can trace it, or move it out of the compiled function",
    ),
    "recompile": EventKind(
        "recompilation",
        "recompilations",
        ("compile",),
        "keep shapes and Python values constant between calls, or mark them as dynamic",
    ),
}
