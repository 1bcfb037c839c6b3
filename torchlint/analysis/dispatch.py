"""Dispatch: the nodes for which a rule's visitor is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import may_call, method

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.on import Event


def nodes_for(module: SourceModule, event: Event) -> Sequence[cst.CSTNode]:
    """The nodes that match an event, in source order."""
    kind: type[cst.CSTNode] = getattr(cst, event.node)
    if kind is cst.Module:
        return [module.tree]
    found: list[cst.CSTNode] = module.nodes_of(kind, *map(module.aliases, event.groups))
    if event.methods:
        return [node for node in found if method(node) in event.methods]
    if event.functions:
        return [node for node in found if isinstance(node, cst.Call) and _calls(module, node, event)]
    return found


def _calls(module: SourceModule, call: cst.Call, event: Event) -> bool:
    return may_call(call, event.groups[0]) and module.qualified(call.func) in event.functions
