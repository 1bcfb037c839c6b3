"""Operators with tensors: the device and dtype of their results."""

from __future__ import annotations

import libcst as cst

from torchlint.analysis.values.lattice import Device, Kind, Value

_LOGICAL = (cst.BitAnd, cst.BitOr, cst.BitXor)


def combined(left: Value, right: Value, node: cst.CSTNode) -> Value | None:
    """An operator with a tensor operand gives a tensor; a Python number takes the device of the other operand.

    So does a tensor of unknown device: operands on different devices are an error, but for single numbers on the CPU.
    """
    tensors = [v for v in (left, right) if v.kind is Kind.TENSOR or v.located]
    if not tensors or Kind.STRING in (left.kind, right.kind):
        return None
    devices = {t.device for t in tensors}
    accelerated = [d for d in devices if d.accelerated]
    certain = list(devices) if len(devices) == 1 else accelerated
    device = certain[0] if len(certain) == 1 else Device.UNKNOWN
    if len(accelerated) > 1 and all(d.may_be_cuda for d in accelerated):
        device = Device.CUDA  # the operands are on one device, and for one of them it is certain
    sure = all(one.sure or one.kind is Kind.SCALAR for one in (left, right))
    dtype = _combined_dtype(left, right, node)
    return Value(Kind.TENSOR, device, dtype=dtype, sure=sure, origin=node, fresh=True)


def _combined_dtype(left: Value, right: Value, node: cst.CSTNode) -> str | None:
    """``bool`` for masks that are combined with ``&``, ``|`` or ``^``."""
    logical = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _LOGICAL)
    return "bool" if logical and left.dtype == right.dtype == "bool" else None
