"""What stubs say in words of their own, since Python has none for it: ``from torchlint_stubs import batches``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments
from torchlint.engine.conditions import truth
from torchlint.engine.union import join_all
from torchlint.engine.values import (
    ELEMENT,
    MOVED,
    SEQUENCES,
    UNKNOWN,
    Device,
    Kind,
    Value,
    leaves,
    sequence,
    tensor,
)
from torchlint.libraries.devices import Devices
from torchlint.libraries.loaders import prepared
from torchlint.libraries.options import Options

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

WORDS = "torchlint_stubs"  # the module that stubs import them from
_DEEP = 3  # containers in a batch


class StubWords:
    """Follows the functions that only stubs call."""

    def __init__(self, engine: Engine, devices: Devices, options: Options) -> None:
        self._engine, self._state = engine, engine.state
        self._devices, self._options = devices, options

    def call(self, given: Arguments) -> Value:
        """What one of the functions gives."""
        return _FUNCTIONS[given.name](self, given)

    def _batches(self, given: Arguments) -> Value:
        """``batches(loaders)``: a loader that gives the batches of all loaders in containers, one after another."""
        found = [self._batch(leaf, given) for leaf in leaves(given.get(0)) for leaf in leaf.members]
        return Value(Kind.LOADER, element=join_all(value for value in found if value is not None))

    def _batch(self, loader: Value, given: Arguments) -> Value | None:
        if loader.is_none:
            return None
        if loader.kind in _UNKNOWN_LOADERS:
            return ELEMENT
        return self._engine.containers.element(loader, given.node, given.scope)

    def _moved(self, given: Arguments) -> Value:
        """``moved(batch, device)``: the batch with its tensors on a device; a method ``to`` of its own moves it."""
        batch, device = given.get(0), self._devices.of(given.get(1)) or Device.ACCELERATOR
        if batch.kind is Kind.UNION:
            return self._engine.containers.each(batch, lambda each: self._moved(_first(given, each)))
        if batch.kind is Kind.UNKNOWN and device is Device.ACCELERATOR:
            return tensor(Device.ACCELERATOR, sure=False, detail=MOVED)
        if batch.kind is Kind.INSTANCE:
            move = self._engine.classes.method(batch, "to")
            if move is None:
                return batch
            moved = self._engine.call(move, [given.get(1)], {}, given.node, given.scope)
            return moved if moved.kind is not Kind.UNKNOWN else batch
        return self._devices.moved_all(batch, device, given, _DEEP)

    def _prepared(self, given: Arguments) -> Value:
        """``prepared(values, moves)``: the same things, of which loaders give batches on the device if it ``moves``."""
        values, moves = given.get(0).items, truth(given.get(1)) is not False
        return prepared(values, moves=moves) if values else UNKNOWN

    def _options_of(self, given: Arguments) -> Value:
        """``options_of(classes)``: an object of each class, whose fields are options."""
        classes = given.get(0).items if given.get(0).kind in SEQUENCES else [given.get(0)]
        return sequence([self._filled(each, given) for each in classes])

    def _filled(self, class_: Value, given: Arguments) -> Value:
        return self._options.of_class(class_, given.node, given.scope) if class_.kind is Kind.CLASS else UNKNOWN

    def _called(self, given: Arguments) -> Value:
        """``called_with_options(function)``: what a function gives whose parameters are options."""
        function = given.get(0)
        if function.kind is not Kind.FUNCTION:
            return self._engine.call(function, [], {}, given.node, given.scope)
        return self._options.of_function(function, given.node, given.scope)

    def _runs(self, given: Arguments) -> Value:
        """``runs(function)``: a command, which the command line calls with its options."""
        self._state.commands += [value for value in given.get(0).members if value.kind is Kind.FUNCTION]
        return UNKNOWN

    def _one_of(self, given: Arguments) -> Value:
        """``one_of(values)``: each of several values; calling it calls all of them, in no loop."""
        return self._engine.containers.element(given.get(0), given.node, given.scope)

    def _option(self, given: Arguments) -> Value:
        """``option(name, default)``: the value of an option of the command line."""
        name = given.get(0).detail
        return self._options.option(name, given.get(1), f"--{name}") if isinstance(name, str) else UNKNOWN

    def _array(self, given: Arguments) -> Value:
        """``array()``: an array of NumPy."""
        return Value(Kind.ARRAY)

    def _unknown(self, given: Arguments) -> Value:
        """``unknown()``: something of which nothing is known."""
        return UNKNOWN


def _first(given: Arguments, value: Value) -> Arguments:
    return given._replace(values=[value, *given.values[1:]])


_UNKNOWN_LOADERS = frozenset({Kind.UNKNOWN, Kind.METHOD, Kind.TENSOR})
_FUNCTIONS = {
    "batches": StubWords._batches,
    "moved": StubWords._moved,
    "prepared": StubWords._prepared,
    "options_of": StubWords._options_of,
    "called_with_options": StubWords._called,
    "runs": StubWords._runs,
    "one_of": StubWords._one_of,
    "option": StubWords._option,
    "array": StubWords._array,
    "unknown": StubWords._unknown,
}
