"""Devices: what an argument names, where operands lie, where a method moves its tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, keyword
from torchlint.analysis.values.lattice import UNKNOWN, Device, Kind, Value, device_named
from torchlint.knowledge.transfers import DEVICE_WORDS

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


def made(values: Values, node: cst.Call, name: str) -> Value:
    """The device that a call of ``torch.device``, or of what finds an accelerator, gives."""
    if name != "torch.device":
        return Value(Kind.DEVICE, Device.VARIABLE, origin=node, source=name)
    named = values.value(argument(node, "type", 0) or keyword(node, "device"))
    device = device_named(named)
    if device is Device.UNKNOWN and named.literal is None:
        device = Device.VARIABLE  # whatever the program is told
    return Value(Kind.DEVICE, device, literal=named.literal, origin=node, source=name)


def device_of(values: Values, node: cst.CSTNode | None) -> Device:
    """The device that an argument such as ``device=`` names; an integer is a CUDA index."""
    value = values.value(node)
    if isinstance(node, cst.Call) and values.code.qualified(node.func) == "torch.cuda.current_device":
        return Device.CUDA
    if value.kind in (Kind.DEVICE, Kind.STRING) and device_named(value) is not Device.UNKNOWN:
        return device_named(value)
    if isinstance(node, cst.Integer) or value.kind is Kind.SCALAR:
        return Device.CUDA  # a number is the index of one
    return Device.VARIABLE if value.literal is None and _is_some_device(node, value) else Device.UNKNOWN


def _is_some_device(node: cst.CSTNode | None, value: Value) -> bool:
    """A device that is not known, or a variable of unknown value that is called one: users put accelerators there."""
    called = node.func if isinstance(node, cst.Call) else node
    last = called.attr.value.lower() if isinstance(called, cst.Attribute) else (dotted(called) or "").lower()
    return value.kind is Kind.DEVICE or (value.kind is Kind.UNKNOWN and is_device_name(last))


def is_device_name(name: str) -> bool:
    """``device``, ``get_device``, ``gpu_id``; ``gpu_dtype`` is none."""
    words = name.lower().split("_")
    return not DEVICE_WORDS.isdisjoint(words) and not words[-1].endswith("dtype")


def of_operands(values: Values, node: cst.Call) -> Device:
    """The device of the first tensor operand; of a list of tensors, that of its members."""
    where = keyword(node, "device")
    if where is not None:
        return device_of(values, where)
    return first_operand(values, node).device


def first_operand(values: Values, node: cst.Call) -> Value:
    """The first operand that is a tensor, or lies where something is known to lie."""
    for arg in node.args[:2]:
        value = values.value(arg.value)
        if value.kind in (Kind.LIST, Kind.TUPLE):
            value = value.iterated_value()
        if value.kind is Kind.TENSOR or value.located:
            return value
    return UNKNOWN


def is_device_of(values: Values, target: cst.BaseExpression) -> bool:
    """``x.to(y.device)``, also through a variable, brings things together; it is not how one asks for the CPU."""
    made = values.value(target).origin if isinstance(target, cst.Name) else target
    return (
        isinstance(made, cst.Attribute)
        and made.attr.value == "device"
        and not (isinstance(made.value, cst.Name) and made.value.value == "self")
    )


def moved_to(values: Values, node: cst.Call) -> Device | None:
    """Where ``x.to(..)``, ``x.cuda()``, ``x.cpu()`` put things; None if the call moves nothing."""
    assert isinstance(node.func, cst.Attribute)
    name = node.func.attr.value
    if name in ("cuda", "cpu"):
        return Device.CUDA if name == "cuda" else Device.CPU
    if name != "to":
        return None
    target = argument(node, "device", 0)
    value = values.value(target)
    if target is None or value.kind is Kind.DTYPE:
        return None
    if value.kind is Kind.TENSOR:
        return value.device
    return device_of(values, target)
