"""What stubs say in words of their own, since Python has none for it: ``from torchlint_stubs import batches``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments
from torchlint.engine.conditions import truth
from torchlint.engine.state import Left, Returned
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
    from torchlint.engine.frames import Class
    from torchlint.engine.protocol import Engine

WORDS = "torchlint_stubs"  # the module that stubs import them from
_DEEP = 3  # containers in a batch


class StubWords:
    """Follows the functions that only stubs call."""

    def __init__(self, engine: Engine, devices: Devices, options: Options) -> None:
        self._engine, self._state = engine, engine.state
        self._devices, self._options = devices, options
        self._assumed: dict[Class, Value] = {}  # objects of classes of which the programs make none

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
        """``moved(batch, device)``: the batch with its tensors on a device; a method ``to`` of its own moves it.

        It stays where it is if the device is None.
        """
        if given.get(1).is_none:
            return given.get(0)
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
        return prepared(values, moves=moves, by=given.scope.module.library) if values else UNKNOWN

    def _or_else(self, given: Arguments) -> Value:
        """``or_else(value, class)``: something, or an object of a class if nothing is known of it."""
        value = given.get(0)
        if value.kind is not Kind.UNKNOWN:
            return value
        return self._engine.classes.instantiate(given.get(1).target, [], {}, given.node, given.scope)

    def _any_made(self, given: Arguments) -> Value:
        """``any_made(class)``: an object of a class as the programs have made it, or as one without arguments is."""
        class_ = given.get(0).target
        if class_ not in self._assumed:
            made = self._engine.classes.objects_of(class_)
            if made is not None:
                return made
            self._assumed[class_] = self._engine.classes.instantiate(class_, [], {}, given.node, given.scope)
        self._state.frame.assumed, self._state.frame.assumes_step = True, "training"
        return self._assumed[class_]

    def _options_of(self, given: Arguments) -> Value:
        """``options_of(classes)``: an object of each class, whose fields are options."""
        classes = given.get(0).items if given.get(0).kind in SEQUENCES else [given.get(0)]
        return sequence([self._filled(each, given) for each in classes])

    def _filled(self, class_: Value, given: Arguments) -> Value:
        return self._options.of_class(class_, given.node, given.scope) if class_.kind is Kind.CLASS else UNKNOWN

    def _called(self, given: Arguments) -> Value:
        """``called_with_options(function)``: what a function gives whose parameters are options.

        Of a class or an object these are its methods, and of None the functions of the program.
        """
        found: list[Value] = []
        for function in self._functions(given.get(0), given):
            try:
                if function.kind is Kind.FUNCTION:
                    found.append(self._options.of_function(function, given.node, given.scope))
                else:
                    found.append(self._engine.call(function, [], {}, given.node, given.scope))
            except (Returned, Left):
                continue
        return join_all(found)

    def _functions(self, component: Value, given: Arguments) -> list[Value]:
        """The functions that a command line offers for a component."""
        if component.kind is Kind.CLASS:
            component = self._filled(component, given)
        if component.kind is Kind.DICT:
            return list(component.fields.values())
        if component.kind is Kind.INSTANCE and component.target.class_ is not None:
            order = self._engine.classes.lineage(component.target.class_)[0]
            names = dict.fromkeys(name for each in order for name in each.fields if name[0] != "_")
            methods = (self._engine.classes.method(component, name) for name in names)
            return [method for method in methods if method is not None and method.kind is Kind.FUNCTION]
        if component.is_none and self._state.entry is not None:
            module = self._engine.program.modules[self._state.entry[0]]
            functions = (value for value in module.names.values() if value.kind is Kind.FUNCTION)
            return [function for function in functions if function.target.scope.module is module]
        return [component]

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
    "or_else": StubWords._or_else,
    "any_made": StubWords._any_made,
    "options_of": StubWords._options_of,
    "called_with_options": StubWords._called,
    "runs": StubWords._runs,
    "one_of": StubWords._one_of,
    "option": StubWords._option,
    "array": StubWords._array,
    "unknown": StubWords._unknown,
}
