"""Protocols for the parts of value inference, which query one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.code import Code
    from torchlint.analysis.values.fixpoint import FixpointMemo
    from torchlint.analysis.values.lattice import Device, Value


class DeviceEvidenceProtocol(Protocol):
    """Evidence on devices; implemented by :mod:`torchlint.analysis.values.semantics.device_evidence`."""

    @property
    def on_accelerator(self) -> bool: ...

    def moved_to(self, node: cst.CSTNode) -> Device: ...

    def is_moved_module(self, node: cst.CSTNode) -> bool: ...

    def is_cuda_type(self, node: cst.CSTNode | None, depth: int = 8) -> bool: ...


class Values(Protocol):
    """The values of one file; implemented by :class:`~torchlint.analysis.values.evaluate.Evaluator`."""

    code: Code
    memo: FixpointMemo

    @property
    def device_evidence(self) -> DeviceEvidenceProtocol: ...

    def value(self, node: cst.CSTNode | None) -> Value: ...

    def iterated_value(self, iterable: cst.CSTNode | None, value: Value | None = None) -> Value: ...

    def return_value(self, function: cst.FunctionDef) -> Value: ...
