"""Settings of TensorFloat-32 through the two interfaces of torch 2.9, and what is an error after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.dominance import dominates
from torchlint.analysis.syntax.calls import literal, positional
from torchlint.knowledge import precision as known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_ATTRIBUTES = ("allow_tf32", "fp32_precision")
_SETTER = "torch.set_float32_matmul_precision"
_PROBES = frozenset({"builtins.hasattr", "builtins.getattr"})


class Write(NamedTuple):
    """A place that sets whether some operations use TensorFloat-32; None if the value is not known."""

    node: cst.CSTNode
    name: str
    tf32: bool | None


class Read(NamedTuple):
    """A place that reads a setting by the old interface."""

    node: cst.CSTNode
    name: str


def disagree(writes: Iterable[tuple[str, bool]]) -> frozenset[str]:
    """The kinds of operations on which the states of the two interfaces disagree after these writes."""
    old, new = dict(known.TF32_BY_DEFAULT), dict(known.TF32_BY_DEFAULT)
    for name, tf32 in writes:
        kinds = {**known.OLD_TF32, **known.NEW_TF32}[name]
        for kind in kinds:
            new[kind] = tf32
            old[kind] = tf32 if name in known.OLD_TF32 else old[kind]
    return frozenset(kind for kind in old if old[kind] is not new[kind])


class Tf32:
    """The settings of TensorFloat-32 in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._writes = sorted(self._all_writes(), key=lambda write: module.order(write.node))

    def failing_reads(self) -> Iterator[tuple[Read, Write]]:
        """The reads that certainly raise an error, with the last write by the new interface before each."""
        for read in self._reads():
            before = self._before(read.node)
            if before and not self._module.any_guard(read.node, _catches) and self._fails(read, before):
                yield read, next(write for write in reversed(before) if write.name in known.NEW_TF32)

    def _fails(self, read: Read, before: list[Write]) -> bool:
        found = disagree((write.name, write.tf32) for write in before if write.tf32 is not None)
        return not found.isdisjoint(known.TF32_READS[read.name])

    def contradictions(self) -> Iterator[tuple[Write, Write]]:
        """The last writes by the new interface that contradict one by the old interface, with that one."""
        for write in self._writes:
            before = self._before(write.node) if write.name in known.NEW_TF32 else []
            kinds = known.NEW_TF32.get(write.name, ())
            old = [b for b in before if b.name in known.OLD_TF32 and not set(kinds).isdisjoint(known.OLD_TF32[b.name])]
            if old and write.tf32 is not None and write is self._writes[-1] and old[-1].tf32 is not write.tf32:
                yield write, old[-1]

    def _before(self, node: cst.CSTNode) -> list[Write]:
        """The writes before a node; empty if the order, a value or what is inherited is not certain."""
        statement = self._module.statement_of(node)
        others = [write for write in self._writes if write.node is not node]
        later = {w.node for w in others if self._precedes(statement, w.node) or self._module.exclusive(w.node, node)}
        before = [write for write in others if write.node not in later]
        known_values = all(write.tf32 is not None and write.name not in known.INHERITED_TF32 for write in before)
        ordered = all(self._precedes(self._module.statement_of(write.node), node) for write in before)
        return before if known_values and ordered else []

    def _precedes(self, statement: cst.CSTNode, node: cst.CSTNode) -> bool:
        return dominates(self._module, statement, node)

    # -- finding them ------------------------------------------------------------------------------

    def _all_writes(self) -> Iterator[Write]:
        for assignment in self._module.nodes_of(cst.Assign, frozenset(_ATTRIBUTES)):
            for target in assignment.targets:
                attribute = isinstance(target.target, cst.Attribute)
                name = (self._module.qualified(target.target) if attribute else None) or ""
                if name in known.OLD_TF32 or name in known.NEW_TF32 or name in known.INHERITED_TF32:
                    yield Write(assignment, name, _enables(literal(assignment.value)))
        for call in self._module.nodes_of(cst.Call, frozenset((_SETTER.rpartition(".")[2],))):
            if self._module.qualified(call.func) == _SETTER:
                yield Write(call, _SETTER, _enables(literal(positional(call, 0))))

    def _reads(self) -> Iterator[Read]:
        for attribute in self._module.attributes_named("allow_tf32"):
            name = self._module.qualified(attribute)
            if name in known.TF32_READS and not isinstance(self._module.parent(attribute), cst.AssignTarget):
                yield Read(attribute, name)
        for call in self._module.nodes_of(cst.Call, frozenset(("flags", "allow_tf32"))):
            name = self._read_by(call)
            if name in known.TF32_READS:
                yield Read(call, name)

    def _read_by(self, call: cst.Call) -> str:
        """The setting that a call reads: ``cudnn.flags(..)`` does, and ``hasattr(cudnn, "allow_tf32")``."""
        name = self._module.qualified(call.func) or ""
        owner, attribute = positional(call, 0), positional(call, 1)
        if name in _PROBES and owner is not None:
            return f"{self._module.qualified(owner)}.{literal(attribute)}"
        return name


def _enables(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"tf32": True, "high": True, "medium": True, "ieee": False, "highest": False}.get(str(value))


def _catches(guard: Guard) -> bool:
    return guard.kind in ("try", "handler")
