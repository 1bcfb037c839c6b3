"""Methods of what is not known, which their names tell of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments, device_of
from torchlint.engine.chosen import declared
from torchlint.engine.values import (
    ELEMENT,
    MOVED,
    NONE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Device,
    Value,
    collection,
    sequence,
    tensor,
)
from torchlint.knowledge import following as known
from torchlint.knowledge import forms
from torchlint.knowledge.synchronization import PARAMETER_METHODS
from torchlint.libraries.devices import Devices
from torchlint.libraries.loaders import prepared

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_SAME = frozenset("cuda to train eval detach float long half double int".split())


class Unknowns:
    """Follows such methods."""

    def __init__(self, engine: Engine, devices: Devices) -> None:
        self._engine, self._state, self._devices = engine, engine.state, devices

    def method(self, given: Arguments) -> Value:
        """``unknown.name(..)``"""
        owner = given.receiver
        if given.name == "step":
            self._steps(given)
        if given.name in ("backward", "manual_backward"):
            self._state.queue("backward", given.node)
            return NONE
        target = self._devices.target(given) if given.name == "to" else None
        if given.name == "cuda" or target is Device.ACCELERATOR:
            if owner.is_batch and not self._state.worker:
                self._devices.copy(given, self._state.origin("batch", given.node))
                return tensor(Device.ACCELERATOR, origin=self._state.origin("uploaded", given.node))
            self._state.load("device", given.node)
            return tensor(Device.ACCELERATOR, sure=False, detail=MOVED)
        if given.name in _SAME:
            return owner
        if given.name == "item":
            return NUMBER
        if given.name in ("get", "pop") and given.get(0).is_text and not owner.is_batch:
            told = declared(given.get(0).detail, self._engine.program)
            if told is not None:
                return told
        if given.name in ("items", "values"):
            part = ELEMENT if owner.is_batch else UNKNOWN
            return collection(sequence([TEXT, part]) if given.name == "items" else part)
        if given.name in ("prepare", "setup", "setup_module", "setup_optimizers", "setup_dataloaders") and given.values:
            return prepared(given.values)
        if given.name in PARAMETER_METHODS:
            parameter = tensor(Device.ACCELERATOR)
            return collection(sequence([TEXT, parameter]) if given.name.startswith("named") else parameter)
        return self._computed(given)

    def _steps(self, given: Arguments) -> None:
        """What is unknown makes a step: an environment, or perhaps an optimizer."""
        self._state.do(given.node)
        if not given.receiver.is_batch and given.values and given.node is not self._state.discarded:
            self._state.mark("act")

    def _computed(self, given: Arguments) -> Value:
        on_device = device_of(given.all) is Device.ACCELERATOR
        if given.name in known.LOGGING:
            self.log(given)
            return UNKNOWN
        if given.name not in known.QUIET:
            found = self._engine.calls.of_unknown(given.values, given.named, given.node)
            if on_device:
                return found
        return ELEMENT if given.receiver.is_batch and given.name in ("long", "float", "next", "pop") else UNKNOWN

    def log(self, given: Arguments) -> None:
        """What is logged is read."""
        for value in given.all:
            self._state.reads(value, given.node, given.scope, forms.READ_FUNCTION, given.name)
