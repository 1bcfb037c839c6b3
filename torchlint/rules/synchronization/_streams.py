"""Streams and events: which of them a call of ``synchronize`` waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import receiver
from torchlint.analysis.values.sources import sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchlint.analysis.module import SourceModule

StreamKind = Literal["stream", "event"]
_KINDS: dict[str, StreamKind] = {
    **dict.fromkeys(("torch.cuda.Stream", "torch.Stream", "torch.cuda.current_stream"), "stream"),
    **dict.fromkeys(("torch.cuda.default_stream", "torch.accelerator.current_stream"), "stream"),
    **dict.fromkeys(("torch.cuda.Event", "torch.Event"), "event"),
}


def waited_for(module: SourceModule, call: cst.Call) -> StreamKind | None:
    """What ``x.synchronize()`` waits for; None if that is not in sight."""
    owner = receiver(call)
    found = {_kind(module, made) for made in _made(module, owner)} if owner is not None else set()
    return found.pop() if len(found) == 1 else None


def _made(module: SourceModule, node: cst.BaseExpression) -> Sequence[cst.CSTNode]:
    """The expressions that make an object, which is a variable or a field."""
    owner = module.class_of(node)
    if isinstance(node, cst.Attribute) and dotted(node.value) == "self" and owner is not None:
        return [value for value, _ in module.classes.assignments(owner, node.attr.value) if value is not None]
    return sources(module.evaluator, node)


def _kind(module: SourceModule, node: cst.CSTNode) -> StreamKind | None:
    name = module.qualified(node.func) if isinstance(node, cst.Call) else None
    return _KINDS.get(name) if name is not None else None
