"""Names of devices in conditions: ``device.type == "mps"``, ``"cuda" in str(x.device)``."""

from __future__ import annotations

from torchlint.engine.values import Device, Kind, Value

_NAMES = {Device.ACCELERATOR: "cuda", Device.HOST: "cpu"}
_OTHERS = frozenset("mps xpu npu hpu meta xla tpu mlu musa".split())


def name_of(device: Value) -> Value:
    """The text of a device: ``str(device)`` or ``device.type``."""
    return Value(Kind.TEXT, device=device.device)


def is_named(one: Value, other: Value) -> bool | None:
    """Whether two devices, or the names of two, are the same; None if that is not known, or they are none."""
    if not (_is_device(one) or _is_device(other)):
        return None
    names = _name(one), _name(other)
    if None in names or "" in names:
        return None
    same = names[0] == names[1]
    indexed = any(value.kind is Kind.CONSTANT and ":" in str(value.detail) for value in (one, other))
    return None if same and indexed else same


def _is_device(value: Value) -> bool:
    return value.kind is Kind.DEVICE or (value.kind is Kind.TEXT and value.device is not None)


def _name(value: Value) -> str | None:
    """The kind of device that a value is or names, without an index."""
    if _is_device(value):
        return _NAMES.get(value.device or Device.UNKNOWN)
    name = value.detail.partition(":")[0] if value.kind is Kind.CONSTANT and isinstance(value.detail, str) else ""
    return name if name in _OTHERS or name in _NAMES.values() else None
