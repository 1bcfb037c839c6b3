"""Results of functions of other files that a step calls: which parts are on the device of the arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.values.devices import device_of, is_device_name
from torchlint.analysis.values.lattice import UNKNOWN, Device, Kind, Value, device_named

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values
    from torchlint.project.facts import Returned, StepResult

_CONTAINERS = (Kind.TUPLE, Kind.LIST, Kind.DICT)
_ELSEWHERE = (Kind.SCALAR, Kind.STRING, Kind.NDARRAY, Kind.NUMPY_SCALAR, Kind.NONE)


def is_on_device(value: Value) -> bool:
    """Whether an argument is a tensor on an accelerator, or a container of such tensors."""
    return (value.iterated_value() if value.kind in _CONTAINERS else value).accelerated


def described(value: Value) -> Returned:
    """A return value as a fact: what of it is on an accelerator, and what is certainly not."""
    if value.accelerated:
        return {"device": value.device.value, "tensor": value.kind is Kind.TENSOR}
    if value.kind in _CONTAINERS:
        found: Returned = {"container": value.kind.value}
        if value.elements:
            found["elements"] = [described(element) for element in value.elements]
        elif value.element is not None:
            found["element"] = described(value.element)
        return found if len(found) > 1 else {}
    return {"device": Device.CPU.value} if value.device is Device.CPU or value.kind in _ELSEWHERE else {}


def tells_device(found: Returned) -> bool:
    """Whether something is known of a return value, or of a part of it."""
    parts = [*found.get("elements", ()), *([found["element"]] if "element" in found else [])]
    return "device" in found or any(map(tells_device, parts))


def of_call(values: Values, node: cst.Call, name: str, otherwise: Value) -> Value:
    """The result of a call of a function of another file; ``otherwise`` for what that file does not tell.

    The call must pass tensors on the device for the same parameters as the calls in steps. If these pass none, the
    function moves what it gets, and the call must name an accelerator.
    """
    if any(arg.star for arg in node.args):
        return otherwise
    on_device = {
        arg.keyword.value if arg.keyword is not None else str(place)
        for place, arg in enumerate(node.args)
        if is_on_device(values.value(arg.value))
    }
    targets = [device for arg in node.args if (device := _target(values, arg)) is not Device.UNKNOWN]
    if not (on_device or targets) or Device.CPU in targets:
        return otherwise
    found = values.code.project.step_result(name)
    if found is None or not _has_inputs(found, on_device, targets):
        return otherwise
    return _value(found["value"], node, otherwise)


def _target(values: Values, arg: cst.Arg) -> Device:
    """The device that an argument names; UNKNOWN for numbers, tensors and everything else."""
    value = values.value(arg.value)
    if value.kind in (Kind.DEVICE, Kind.STRING):
        return device_named(value) if value.kind is Kind.STRING else device_of(values, arg.value)
    last = arg.value.attr if isinstance(arg.value, cst.Attribute) else arg.value
    named = isinstance(last, cst.Name) and value == UNKNOWN and is_device_name(last.value)
    return Device.VARIABLE if named else Device.UNKNOWN


def _has_inputs(found: StepResult, on_device: set[str], targets: Iterable[Device]) -> bool:
    if not found["needs"]:
        return bool(list(targets))
    return all(not on_device.isdisjoint(places) for places in found["needs"])


def _value(found: Returned, node: cst.Call, otherwise: Value) -> Value:
    if "container" in found:
        kind = Kind(found["container"])
        elements = tuple(_value(one, node, otherwise) for one in found.get("elements", ()))
        element = _value(found["element"], node, otherwise) if "element" in found else None
        return Value(kind, elements=elements or None, element=element, origin=node)
    if "device" not in found:
        return otherwise
    device = Device(found["device"])
    if device is Device.CPU:
        return UNKNOWN
    return Value(Kind.TENSOR if found.get("tensor") else Kind.UNKNOWN, device, origin=node)
