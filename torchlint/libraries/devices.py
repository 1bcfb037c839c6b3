"""Devices: which one an argument names, and moves between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments
from torchlint.engine.conditions import truth
from torchlint.engine.memory import PINNED
from torchlint.engine.values import NONE, Device, Kind, Origin, Value, collection, sequence, tensor
from torchlint.knowledge import following as known
from torchlint.knowledge import forms

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_ACCELERATOR, _OTHERS = "cuda", frozenset("mps xpu npu hpu".split())  # the world has CUDA
_OTHER_DEVICE = re.compile(r":[1-9]")
_OPEN = frozenset({Kind.UNKNOWN, Kind.TEXT, Kind.METHOD, Kind.FLAG, Kind.INSTANCE})


class Devices:
    """Interprets devices in a world with one accelerator."""

    def __init__(self, engine: Engine) -> None:
        self._state = engine.state

    def named(self, value: Value) -> Device | None:
        """The device that a value names; None if it names none."""
        if value.kind in (Kind.DEVICE, Kind.TEXT) and value.device is not None:
            return value.device
        if value.kind is Kind.CONSTANT and isinstance(value.detail, str):
            name = value.detail.partition(":")[0]
            if name == _ACCELERATOR:
                return Device.ACCELERATOR
            if name in _OTHERS:
                return Device.HOST
            option = value.option if value.option is not None and not value.option.given else None
            chosen = option is not None and known.FOR_ACCELERATOR.search(option.name) is not None
            return (Device.ACCELERATOR if chosen else Device.HOST) if name == "cpu" else None
        index = isinstance(value.detail, int) and not isinstance(value.detail, bool)
        return Device.ACCELERATOR if value.kind is Kind.NUMBER or (value.kind is Kind.CONSTANT and index) else None

    def of(self, value: Value) -> Device | None:
        """The device that a value names or, if it is a tensor, is on; an unknown value means the accelerator."""
        found = self.named(value)
        if found is not None:
            return found
        if value.kind is Kind.TENSOR:
            unknown = value.device is Device.UNKNOWN and not self._state.worker
            return Device.ACCELERATOR if unknown else value.device
        return Device.ACCELERATOR if value.kind in _OPEN and not self._state.worker else None

    def target(self, given: Arguments) -> Device | None:
        """The device that ``x.to(..)`` moves to; None if it only converts."""
        if "device" in given.named:
            return None if given.named["device"].is_none else self.of(given.named["device"])
        if not given.values or given.values[0].kind is Kind.LIBRARY:
            return None
        return self.of(given.values[0])

    def moved(self, value: Value, device: Device, given: Arguments) -> Value:
        """A tensor at another place; records the copy."""
        if device is Device.UNKNOWN:
            device = Device.HOST if self._state.worker else Device.ACCELERATOR
        if device is Device.ACCELERATOR and value.device is not Device.ACCELERATOR and is_certain(given):
            self._state.load("device", given.node)
        if device is Device.ACCELERATOR and value.device is Device.HOST:
            self.copy(given, value.origin, value.memory)
        elif not self.is_asynchronous(given):
            self._state.queued.wait()
        if device is Device.HOST and self._state.on_device(value):
            if value.sure and self._blocks(given):
                self._state.happen(given.node, given.scope, forms.MOVED_TO_HOST, value.origin)
            read = self._state.origin("read", given.node)
            found = tensor(Device.HOST, sure=value.sure, detail=value.detail, origin=read, rank=value.rank)
            return found.within(self.queue(given)) if self.is_asynchronous(given) else found
        origin = value.origin
        if device is Device.ACCELERATOR and value.device is not Device.ACCELERATOR:
            origin = self._state.origin("uploaded", given.node) if value.device is Device.HOST else None
        found = tensor(device, sure=value.sure, detail=value.detail, origin=origin, rank=value.rank)
        return found.within(value.memory) if device is value.device is Device.HOST else found

    def copy(self, given: Arguments, origin: Origin | None, memory: Origin | None = None) -> None:
        """Record a copy to the device, from this memory."""
        if any(_OTHER_DEVICE.search(str(each.detail)) for each in given.all if each.is_text):
            origin = None  # perhaps of another device
        if self._blocks(given):
            self._state.happen(given.node, given.scope, forms.BLOCKING, origin)
        elif memory is None or memory.kind in (PINNED, "arriving") or not self.is_asynchronous(given):
            self._state.happen(given.node, given.scope, forms.ASYNCHRONOUS, origin)
            if memory is not None and memory.kind == PINNED:
                self._state.queued.add(memory, self._state.origin("", given.node), arrives=False)
        else:
            own = origin is not None and origin.kind in (*forms.GENERATED, "read")
            own = own and memory.kind not in ("strided", "converted")
            self._state.happen(given.node, given.scope, forms.PAGEABLE, origin if own else memory)

    def queue(self, given: Arguments, memory: Origin | None = None) -> Origin:
        """A copy to the host that does not wait, to new memory or to this one."""
        here = self._state.origin("arriving", given.node)
        self._state.queued.add(memory or here, here, arrives=True)
        return memory or here

    def _blocks(self, given: Arguments) -> bool:
        """Whether a move certainly waits: ``non_blocking`` is not passed, or false."""
        flag = _flag(given)
        return flag.is_none or (flag.kind is Kind.CONSTANT and not flag.detail)

    def is_asynchronous(self, given: Arguments) -> bool:
        """Whether a move certainly does not wait, if the memory of the host is pinned."""
        return truth(_flag(given)) is True

    def moved_all(self, value: Value, device: Device, given: Arguments, depth: int = 2) -> Value:
        """A container whose tensors are moved, as batches of libraries move theirs."""
        if value.kind is Kind.TENSOR:
            return self.moved(value, device, given)
        if not depth:
            return value
        if value.kind is Kind.TUPLE:
            return sequence([self.moved_all(item, device, given, depth - 1) for item in value.items])
        element = self.moved_all(value.element, device, given, depth - 1) if value.element is not None else None
        if value.kind is Kind.DICT:
            fields = {name: self.moved_all(item, device, given, depth - 1) for name, item in value.fields.items()}
            return Value(Kind.DICT, fields=fields, element=element)
        return collection(element) if value.kind is Kind.LIST and element is not None else value


def is_certain(given: Arguments) -> bool:
    """Whether no argument is the CPU only by the default of a parameter that nothing is known to pass."""
    assumed = (v for v in given.all if v.kind is Kind.CONSTANT and v.option is not None and v.option.assumed)
    devices = all(v.sure for v in given.all if v.kind is Kind.DEVICE)
    return devices and not any(str(v.detail).startswith("cpu") for v in assumed)


def _flag(given: Arguments) -> Value:
    """The argument ``non_blocking``, by name or behind the device."""
    return given.named.get("non_blocking") or next((v for v in given.values[1:3] if v.detail is True), NONE)
