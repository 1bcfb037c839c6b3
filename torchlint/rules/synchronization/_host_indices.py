"""What indexing copies to the device: lists, arrays and tensors on the CPU, and numbers that are written."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.things.read import Read
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.catalogue.views import functions
from torchlint.model import Heat
from torchlint.rules.synchronization._repeated_reads import repeated_reads

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

IndexKind = Literal["list", "array", "tensor", "factory", "element", "number"]
# Factories whose results are no booleans unless a dtype says so, and so are integers where they are indices.
_INTEGERS = functions(lambda function: function.dtype.startswith("int64"))
_NUMBERS = (Kind.SCALAR, Kind.NUMPY_SCALAR)
_MAY_BE_INDEX = (cst.List, cst.ListComp, cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BinaryOperation)


class HostIndex(NamedTuple):
    """A subscript with an index on the host: the index in it (``rows``), and what it is.

    A ``factory`` is a tensor that a call in the index makes, and could make on the device. An ``element`` is a number
    that is written to a single element, and a ``number`` one that an index on the device says where to write.
    """

    node: cst.Subscript
    rows: cst.BaseExpression
    kind: IndexKind

    @property
    def is_written(self) -> bool:
        """Whether a number is copied, and not an index."""
        return self.kind in ("element", "number")


class HostIndices:
    """Finds the indices of one module that are copied to the device in every step."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def groups(self, place: cst.CSTNode) -> list[list[HostIndex]]:
        """The indices that a step copies; copies of the same index are one group."""
        found = self._by_step.get(place, [])
        reads = {one: Read(one.node, one.rows, "") for one in found}
        again = repeated_reads(self._module, reads.values())
        groups: list[list[HostIndex]] = []
        latest: dict[str, list[HostIndex]] = {}
        for one in found:
            text = self._module.code(one.rows)
            if reads[one] in again and text in latest and not one.is_written:
                latest[text].append(one)
            else:
                groups.append([one])
                latest[text] = groups[-1]
        return groups

    @cached_property
    def _by_step(self) -> dict[cst.CSTNode, list[HostIndex]]:
        found: dict[cst.CSTNode, list[HostIndex]] = {}
        if self._module.device_evidence.on_accelerator:
            every = (one for one in (*self._all(), *self._numbers()) if self._runs_as_written(one.node))
            for one in sorted(every, key=lambda one: self._module.order(one.node)):
                found.setdefault(self._module.heat_analysis.enclosing_step(one.node), []).append(one)
        return found

    def _all(self) -> Iterator[HostIndex]:
        for node in self._module.nodes_of(cst.Subscript):
            indices = [part.slice.value for part in node.slice if isinstance(part.slice, cst.Index)]
            indices = [index for index in indices if isinstance(index, _MAY_BE_INDEX)]
            if not indices or self._module.heat(node).rank < Heat.STEP.rank:
                continue
            base = self._module.value(node.value)
            kinds = [(index, self._kind(index, base)) for index in indices] if base.accelerated else []
            for index, kind in kinds:
                if kind is not None:
                    yield HostIndex(node, index, kind)
                    break

    def _numbers(self) -> Iterator[HostIndex]:
        """``x[i] = 1.0`` and ``x[rows] = 0``, where the number becomes a tensor that is copied."""
        for statement in self._module.nodes_of(cst.Assign):
            node = statement.targets[0].target
            if not isinstance(node, cst.Subscript) or self._module.heat(statement).rank < Heat.STEP.rank:
                continue
            kind = self._kind_of_write(node) if self._module.value(statement.value).kind in _NUMBERS else None
            if kind is not None:
                yield HostIndex(node, statement.value, kind)

    def _kind_of_write(self, node: cst.Subscript) -> IndexKind | None:
        base = self._module.value(node.value)
        indices = [part.slice.value for part in node.slice if isinstance(part.slice, cst.Index)]
        values = [self._module.value(index) for index in indices]
        if base.kind is not Kind.TENSOR or not base.accelerated or not values:
            return None
        if len(values) == base.rank and all(value.kind is Kind.SCALAR for value in values):
            return "element"
        filled = self._module.target_torch is not None and self._module.has_torch("2.15")
        return "number" if any(map(_is_of_rows, values)) and not filled else None

    def _runs_as_written(self, node: cst.CSTNode) -> bool:
        return not (self._module.never_runs(node) or self._module.shared(Compiled).covers(node))

    def _kind(self, index: cst.BaseExpression, base: Value) -> IndexKind | None:
        """What kind of object on the host an index is; None if it may be a number, or on the device."""
        value = self._module.value(index)
        if value.kind is Kind.LIST:
            return "list" if base.kind is Kind.TENSOR and _holds_numbers(value) else None
        if value.kind is Kind.NDARRAY:
            return "array" if value.rank != 0 else None
        if value.kind is not Kind.TENSOR or value.device is not Device.CPU or not _has_dimensions(value):
            return None
        if value.dtype == "bool" and self._module.has_torch("2.9"):
            return None  # what it selects is found on the host, and copied from pinned memory
        return "factory" if isinstance(index, cst.Call) and value.fresh and value.origin is index else "tensor"


def _is_of_rows(value: Value) -> bool:
    """Whether an index is certainly on the device, and made of integers: not a mask, and not a single number."""
    integers = (value.dtype or "").startswith("int") or (value.dtype is None and value.source in _INTEGERS)
    return value.accelerated and integers and bool(value.rank)


def _has_dimensions(value: Value) -> bool:
    """Whether a tensor is certainly no single number, which would be read without a copy to the device."""
    return bool(value.rank) or value.dtype == "bool" or (value.batch and value.element is not None)


def _holds_numbers(value: Value) -> bool:
    """Whether a list holds numbers alone, and at least one; tensors in it would be read one by one."""
    members = value.elements if value.elements is not None else (value.element,) if value.element is not None else ()
    return bool(members) and all(member.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR) for member in members)
