"""Devices: of arguments, of operands, and of the results of moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, keyword
from torchlint.analysis.values.lattice import SCALAR, UNKNOWN, Device, Kind, Value, device_named
from torchlint.knowledge import tensors as known
from torchlint.knowledge.portability import DEVICE_WORDS

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


def of_backend(node: cst.Call, name: str) -> Value:
    """The result of a function of ``torch.cuda``, ``torch.accelerator`` or another backend: a device, or numbers."""
    _, backend, last = name.split(".")
    if last in known.CURRENT_DEVICE:
        device = {"cuda": Device.CUDA, "accelerator": Device.VARIABLE, "cpu": Device.CPU}.get(backend, Device.OTHER)
        return Value(Kind.DEVICE, device, origin=node, source=name)
    return SCALAR if last in known.NUMBERS_OF_BACKENDS else Value(Kind.TUPLE, element=SCALAR, origin=node)


def made(values: Values, node: cst.Call) -> Value:
    """The result of ``torch.device(..)``."""
    named = values.value(argument(node, "type", 0) or keyword(node, "device"))
    device = device_named(named)
    if device is Device.UNKNOWN and named.literal is None:
        device = Device.VARIABLE  # decided at run time
    return Value(Kind.DEVICE, device, literal=named.literal, origin=node, source="torch.device")


def device_of(values: Values, node: cst.CSTNode | None) -> Device:
    """The device that an argument such as ``device=`` names; an integer is a CUDA index."""
    value = values.value(node)
    if value.kind in (Kind.DEVICE, Kind.STRING) and device_named(value) is not Device.UNKNOWN:
        return device_named(value)
    if isinstance(node, cst.Integer) or value.kind is Kind.SCALAR:
        return Device.CUDA  # the index of a CUDA device
    return Device.VARIABLE if value.literal is None and _is_some_device(node, value) else Device.UNKNOWN


def _is_some_device(node: cst.CSTNode | None, value: Value) -> bool:
    """An unknown device, or an unknown variable that is named like one: users mostly put accelerators there."""
    called = node.func if isinstance(node, cst.Call) else node
    last = called.attr.value.lower() if isinstance(called, cst.Attribute) else (dotted(called) or "").lower()
    return value.kind is Kind.DEVICE or (value.kind is Kind.UNKNOWN and is_device_name(last))


def is_device_name(name: str) -> bool:
    """Whether a name suggests a device: ``device``, ``get_device``, ``gpu_id``, but not ``gpu_dtype``."""
    words = name.lower().split("_")
    return not DEVICE_WORDS.isdisjoint(words) and not words[-1].endswith("dtype")


def of_operands(values: Values, node: cst.Call) -> Device:
    """The device of the first tensor operand, or of the elements of a list of tensors."""
    where = keyword(node, "device")
    if where is not None:
        return device_of(values, where)
    return first_operand(values, node).device


def first_operand(values: Values, node: cst.Call) -> Value:
    """The first operand that is a tensor, or whose device is known."""
    for arg in node.args[:2]:
        value = values.value(arg.value)
        if value.kind in (Kind.LIST, Kind.TUPLE):
            value = value.iterated_value()
        if value.kind is Kind.TENSOR or value.located:
            return value
    return UNKNOWN


def is_device_of(values: Values, target: cst.BaseExpression) -> bool:
    """Whether a target is ``y.device``, possibly through a variable: such a move puts tensors together."""
    made = values.value(target).origin if isinstance(target, cst.Name) else target
    return (
        isinstance(made, cst.Attribute)
        and made.attr.value == "device"
        and not (isinstance(made.value, cst.Name) and made.value.value == "self")
    )


def target_value(values: Values, target: cst.CSTNode | None) -> Value:
    """The value of the target of a move, which is a tensor if it is used as one: devices and dtypes have no shape."""
    value = values.value(target)
    if value.known or value.located or not isinstance(target, cst.Name) or "type" in target.value.lower():
        return value
    uses = (use for binding in values.code.definitions(target) for use in values.code.uses(binding))
    if not any(_is_used_as_tensor(values, use) for use in uses):
        return value
    return Value(Kind.TENSOR, origin=target)


def _is_used_as_tensor(values: Values, use: cst.Name) -> bool:
    parent = values.code.parent(use)
    return isinstance(parent, cst.Attribute) and parent.value is use and parent.attr.value in known.TENSOR_USES


def moved_to(values: Values, node: cst.Call) -> Device | None:
    """The target of ``x.to(..)``, ``x.cuda()`` or ``x.cpu()``; None if the call does not move ``x``."""
    assert isinstance(node.func, cst.Attribute)
    name = node.func.attr.value
    if name in ("cuda", "cpu"):
        return Device.CUDA if name == "cuda" else Device.CPU
    if name != "to":
        return None
    target = argument(node, "device", 0)
    value = target_value(values, target)
    if target is None or value.kind is Kind.DTYPE:
        return None
    if value.kind is Kind.TENSOR:
        return value.device
    return device_of(values, target)
