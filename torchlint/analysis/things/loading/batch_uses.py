"""Where the batches of data loaders are moved to an accelerator: the results of following them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from torchlint.knowledge.frameworks import Framework

if TYPE_CHECKING:
    from torchlint.analysis.scopes.bindings import Binding

# What is followed: a loader, a container of loaders, a batch (or a part of one), what is computed from a batch, or a
# loader that a framework has prepared.
Role: TypeAlias = "str | Framework"
LOADER, CONTAINER, BATCH, DERIVED = "loader", "container", "batch", "derived"
ItemPath = tuple[int, ...]


class BatchMove(NamedTuple):
    """The call ``move`` moves a batch to an accelerator, inside ``loop`` (or where the batch is fetched)."""

    loop: cst.CSTNode
    move: cst.Call


class FrameworkMove(NamedTuple):
    """A framework gets the loader at ``node``, and moves its batches.

    ``certain`` means that it is known to use an accelerator.
    """

    node: cst.CSTNode
    framework: Framework
    evaluation: bool
    certain: bool


class BatchUses(NamedTuple):
    """Where the batches of a loader are moved. ``pinned`` is true if ``pin_memory`` is set on the loader later."""

    moves: tuple[BatchMove, ...]
    pinned: bool
    framework_moves: tuple[FrameworkMove, ...] = ()

    @property
    def any(self) -> bool:
        """Whether something moves them."""
        return bool(self.moves or self.framework_moves)


class Tracking:
    """One tracking: what has been found and visited, and ``work``, the nodes that are still to be visited.

    ``bound`` are the bindings of batches, ``certain`` the frameworks that are known to use an accelerator.
    """

    def __init__(self) -> None:
        self.moves: list[BatchMove] = []
        self.framework_moves: list[FrameworkMove] = []
        self.certain: set[Framework] = set()
        self.pinned = False
        self.seen: set[tuple[Role, cst.CSTNode, ItemPath, cst.CSTNode]] = set()
        self.bound: set[Binding] = set()
        self.work: list[tuple[Role, cst.CSTNode, ItemPath, cst.CSTNode]] = []

    def push(self, role: Role, node: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None = None) -> None:
        """Follow a node, unless it has been visited."""
        entry = (role, node, path, loop or node)
        if entry not in self.seen:
            self.seen.add(entry)
            self.work.append(entry)

    def uses(self) -> BatchUses:
        """What has been found."""
        return BatchUses(
            tuple(dict.fromkeys(self.moves)),
            self.pinned,
            tuple(dict.fromkeys(self.framework_moves)),
        )
