"""Counted operations: what is in a tensor on the device decides how long their result is, so the host waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import bind, literal, method, receiver
from torchlint.analysis.values.lattice import UNKNOWN, Device, Kind, Value
from torchlint.catalogue.functions import METHODS, OF_TORCH
from torchlint.catalogue.records import CountedKind
from torchlint.catalogue.views import COUNTING

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_MAY_BE_MASK = (
    cst.Comparison,
    cst.UnaryOperation,
    cst.BinaryOperation,
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
)
_INDEXED = (Kind.UNKNOWN, Kind.TENSOR)


class Counted(NamedTuple):
    """An operation whose result has a size that the host must read from the device.

    ``mask`` is the boolean mask that selects elements, if one does: in ``x[mask]`` (kind ``mask``), in
    ``x[mask] = values`` (``write``) and in ``x[mask] += values`` (``update``, which waits twice).
    """

    node: cst.BaseExpression
    kind: CountedKind
    mask: cst.BaseExpression | None = None

    @property
    def waits(self) -> int:
        """How often the host waits."""
        return 2 if self.kind == "update" else 1


class CountedOperations:
    """Finds such operations in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def find(self, is_wanted: Callable[[cst.BaseExpression], bool]) -> list[Counted]:
        """The operations on tensors that are certainly on an accelerator, where ``is_wanted`` accepts the node.

        They are in source order. A file that puts nothing on an accelerator has none. The devices of tensors are
        inferred last, since this takes longest.
        """
        if not self._module.device_evidence.any_on_accelerator:
            return []
        calls = (call for call in self._module.nodes_of(cst.Call, self._names) if is_wanted(call))
        subscripts = (node for node in self._module.nodes_of(cst.Subscript) if _may_select(node) and is_wanted(node))
        found = [*filter(None, map(self._of_call, calls)), *filter(None, map(self._of_subscript, subscripts))]
        found = [counted for counted in found if not self._module.never_runs(counted.node)]
        return sorted(found, key=lambda counted: self._module.order(counted.node))

    @cached_property
    def _names(self) -> frozenset[str]:
        return self._module.aliases(frozenset(COUNTING))

    def _of_call(self, call: cst.Call) -> Counted | None:
        name = self._module.qualified(call.func)
        last = method(call) if name is None else name.rpartition(".")[2]
        if last not in COUNTING or (name is None and last not in METHODS):
            return None
        if name is not None and name != f"{'torch' if last in OF_TORCH else 'torch.nn.functional'}.{last}":
            return None
        return self._counted(call, last, is_method=name is None)

    def _counted(self, call: cst.Call, name: str, *, is_method: bool) -> Counted | None:
        """The operation that a call is; None if its arguments tell the size, or may be on the host."""
        kind, parameters, sizing = COUNTING[name]
        given = bind(call, parameters[1:] if is_method else parameters)
        source = receiver(call) if is_method else given.get(parameters[0])
        sized = any(name in sizing and literal(value) != -1 for name, value in given.given.items())
        if given.opaque or source is None or sized:
            return None
        deciding = given.get("repeats") or source if kind == "repeat" else source
        value = self._module.value(deciding)
        if not value.accelerated or (kind == "repeat" and value.kind is not Kind.TENSOR):
            return None
        return Counted(call, kind, given.get("mask"))

    # -- boolean masks ---------------------------------------------------------------------------

    def _of_subscript(self, node: cst.Subscript) -> Counted | None:
        mask = next(filter(self._is_mask, _indices(node)), None)
        kind = self._kind(node) if mask is not None and self._may_be_indexed(node.value) else None
        return Counted(node, kind, mask) if kind is not None else None

    def _is_mask(self, node: cst.BaseExpression) -> bool:
        """Whether an index is certainly a boolean mask on an accelerator."""
        value = self._module.value(node)
        if value.dtype is not None:
            return value.accelerated and value.dtype in ("bool", "uint8")
        return _is_named_mask(node) and (value.accelerated or self._is_in_batch(node, value))

    def _is_in_batch(self, node: cst.BaseExpression, value: Value) -> bool:
        """Whether an expression is a member of something that was moved: ``batch.train_mask``."""
        return value == UNKNOWN and isinstance(node, cst.Attribute) and self._module.value(node.value).accelerated

    def _may_be_indexed(self, node: cst.BaseExpression) -> bool:
        """Whether an expression may be a tensor on the device of the mask, rather than an array or a container."""
        value = self._module.value(node)
        return value.kind in _INDEXED and value.device is not Device.CPU

    def _kind(self, node: cst.Subscript) -> CountedKind | None:
        """What happens to the selected elements; None where a number is written, for which nothing is counted."""
        around = self._module.parent(node)
        if isinstance(around, cst.AugAssign) and around.target is node:
            return "update"
        if not isinstance(around, cst.AssignTarget):
            return None if isinstance(around, (cst.Del, cst.AnnAssign, cst.Annotation)) else "mask"
        statement = self._module.parent(around)
        written = statement.value if isinstance(statement, cst.Assign) else None
        value = self._module.value(written) if written is not None else None
        return "write" if value is not None and value.kind is Kind.TENSOR and value.accelerated else None


def _is_named_mask(node: cst.BaseExpression) -> bool:
    """Whether a variable or attribute is named ``mask``; only masks and integers can be indices, of all dtypes."""
    named = node.attr if isinstance(node, cst.Attribute) else node
    return isinstance(named, cst.Name) and (named.value == "mask" or named.value.endswith("_mask"))


def _indices(node: cst.Subscript) -> Iterator[cst.BaseExpression]:
    return (part.slice.value for part in node.slice if isinstance(part.slice, cst.Index))


def _may_select(node: cst.Subscript) -> bool:
    """Whether an index may be a mask, judging by its form; most are not."""
    return any(isinstance(index, _MAY_BE_MASK) for index in _indices(node))
