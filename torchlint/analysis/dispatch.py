"""The nodes and things of a module that a visitor of a rule is called for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.on import Declaration


def found_for(module: SourceModule, event: Declaration) -> Sequence[object]:
    """What a visitor is called for, in source order."""
    return _FINDERS[event.thing](module, event)


def _nodes(module: SourceModule, event: Declaration) -> Sequence[cst.CSTNode]:
    kind: type[cst.CSTNode] | None = getattr(cst, event.node, None)
    if kind is None:
        raise TypeError(f"visit_{event.node} names no LibCST node")
    if kind is cst.Module:
        return [module.tree]
    found: list[cst.CSTNode] = module.nodes_of(kind, *map(module.aliases, event.groups))
    if event.methods:
        return [node for node in found if method(node) in event.methods]
    if event.functions:
        return [node for node in found if isinstance(node, cst.Call) and module.qualified(node.func) in event.functions]
    return found


# -- things: each kind has a module of its own, imported only where a file may have some -------------------------------


def _loaders(module: SourceModule, _: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.loading.loader import DataLoaders

    return module.shared(DataLoaders).all


def _moves(module: SourceModule, _: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.move import Moves

    return module.shared(Moves).all()


def _steps(module: SourceModule, _: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.step import Steps

    return module.shared(Steps).all()


def _cuda_requests(module: SourceModule, _: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.cuda.request import CudaRequests

    return module.shared(CudaRequests).all()


def _traced(module: SourceModule, _: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.traced import TracedCode

    return module.shared(TracedCode).all


def _flags(module: SourceModule, event: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.flags.backend_flag import BackendFlags

    flags = module.shared(BackendFlags)
    return [write for name in event.flags for write in flags.final_writes(name, event.value)]


def _conflicts(module: SourceModule, event: Declaration) -> Sequence[object]:
    from torchlint.analysis.things.flags.backend_flag import BackendFlags

    one, other = event.flags
    return module.shared(BackendFlags).conflicts(one, other)


def _seen(module: SourceModule, event: Declaration) -> Sequence[object]:
    return module.followed.seen(event.form)


_FINDERS: dict[str, Callable[[SourceModule, Declaration], Sequence[object]]] = {
    "": _nodes,
    "loader": _loaders,
    "move": _moves,
    "step": _steps,
    "cuda_request": _cuda_requests,
    "traced": _traced,
    "form": _seen,
    "file": lambda module, _: [module],
    "flag": _flags,
    "flags_together": _conflicts,
}
