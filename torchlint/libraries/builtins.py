"""Functions of Python itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments
from torchlint.engine.chosen import among
from torchlint.engine.containers import ANY_FIELD, is_loader
from torchlint.engine.device_names import name_of
from torchlint.engine.frames import Class, Scope
from torchlint.engine.paths import path_of
from torchlint.engine.started import iterator
from torchlint.engine.union import join, join_all
from torchlint.engine.values import (
    COUNTER,
    FLAG,
    NONE,
    NUMBER,
    PLAIN,
    SEQUENCES,
    TEXT,
    TYPES,
    UNKNOWN,
    Counted,
    Device,
    Kind,
    Value,
    collection,
    constant,
    library,
    sequence,
    tensor,
)
from torchlint.knowledge import forms

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_PAIRED = 16  # elements of tuples that `zip` pairs one by one
_CHOICES = 24  # classes of a module that `eval` may mean
_FETCHED = frozenset({Kind.GENERATOR, Kind.INSTANCE, Kind.UNKNOWN})  # of which `next` may be a batch
_ITERABLE = frozenset({Kind.LOADER, Kind.LIST, Kind.TUPLE, Kind.MODULES})


class Builtins:
    """Follows calls of builtins."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def call(self, given: Arguments) -> Value:
        """What a builtin gives."""
        special = _FUNCTIONS.get(given.name)
        return special(self, given) if special is not None else UNKNOWN

    def _element(self, value: Value, given: Arguments) -> Value:
        return self._engine.containers.element(value, given.node, given.scope)

    # -- conversions -------------------------------------------------------------------------------

    def _convert(self, given: Arguments) -> Value:
        value = given.get(0)
        self._state.reads(value, given.node, given.scope, forms.READ_FUNCTION, given.name)
        if given.name == "bool":
            return Value(Kind.FLAG, option=value.option, rarely=value.rarely)
        if value.kind is Kind.CONSTANT and value.sure and not value.option:
            return value
        read = self._state.origin("read", given.node) if self._state.is_on_device(value) else value.origin
        detail, numbers = value.detail if value.kind is Kind.NUMBER else None, value.kind in (Kind.NUMBER, Kind.TENSOR)
        return Value(Kind.NUMBER, detail, option=value.option, origin=read if numbers else None)

    def _print(self, given: Arguments) -> Value:
        for value in given.values:
            self._state.reads(value, given.node, given.scope, forms.READ_FUNCTION, "print")
        return NONE

    def _text(self, given: Arguments) -> Value:
        self._state.reads(given.get(0), given.node, given.scope, forms.READ_FUNCTION, given.name)
        return name_of(given.get(0)) if given.get(0).kind is Kind.DEVICE else TEXT

    def _round(self, given: Arguments) -> Value:
        return given.get(0) if given.get(0).kind is Kind.TENSOR else NUMBER

    def _length(self, given: Arguments) -> Value:
        value = given.get(0)
        if value.kind is Kind.TUPLE and any(map(_is_of_batch, value.items)):
            return constant(len(value.items))
        return Value(Kind.NUMBER, Counted.ITEMS) if value.is_batch else NUMBER

    def _flag(self, given: Arguments) -> Value:
        return FLAG

    def _reduce(self, given: Arguments) -> Value:
        """``max``, ``min``, ``sum`` and ``sorted``, which compare tensors one by one."""
        one = len(given.values) == 1
        element = self._element(given.get(0), given) if one else join_all(given.values)
        if "key" in given.named:
            key = self._engine.call(given.named["key"], [element], {}, given.node, given.scope)
            self._state.waits(key, given.node, given.scope, forms.COMPARED, given.name)
        elif (
            given.name != "sum"
            and element.device is Device.ACCELERATOR
            and all(v.kind in _COMPARED for v in given.values)
        ):
            self._state.waits(element, given.node, given.scope, forms.COMPARED, given.name)
        if given.name == "sorted":
            return collection(element)
        if element.kind is Kind.TENSOR:
            return tensor(element.device or Device.UNKNOWN, sure=element.sure)
        return NUMBER if element.kind in (Kind.NUMBER, Kind.CONSTANT, Kind.FLAG) else element

    def _any(self, given: Arguments) -> Value:
        self._state.reads(self._element(given.get(0), given), given.node, given.scope, forms.TESTED, given.name)
        return FLAG

    # -- iteration ---------------------------------------------------------------------------------

    def _range(self, given: Arguments) -> Value:
        for value in given.values:
            self._state.reads(value, given.node, given.scope, forms.RANGE)
        return Value(Kind.RANGE)

    def _enumerate(self, given: Arguments) -> Value:
        return self._like(given.get(0), sequence([COUNTER, self._element(given.get(0), given)]))

    def _zip(self, given: Arguments) -> Value:
        values = given.values
        if values and all(v.kind is Kind.TUPLE for v in values) and len(values[0].items) <= _PAIRED:
            return sequence([sequence(list(items)) for items in zip(*(v.items for v in values), strict=False)])
        element = sequence([self._element(value, given) for value in values])
        if any(is_loader(value) for value in values):
            return Value(Kind.LOADER, element=element)
        generator = next((value for value in values if value.kind is Kind.GENERATOR), None)
        return self._like(generator, element) if generator is not None else collection(element)

    def _like(self, iterable: Value, element: Value) -> Value:
        """A view of an iterable with other elements: still a loader, still the same generator."""
        if iterable.kind is Kind.GENERATOR:
            made, loader = iterable.target, iterable.receiver
            return Value(Kind.GENERATOR, iterable.detail, element=element, target=made, receiver=loader)
        if is_loader(iterable) or self._engine.containers.holds_loader(iterable):
            return Value(Kind.LOADER, iterable.detail, element=element, origin=iterable.origin)
        return collection(element)

    def _collect(self, given: Arguments) -> Value:
        if not given.values:
            return collection(None)
        value = given.get(0)
        if value.kind in _ITERABLE:
            return value
        self._engine.containers.consume(value, given.node)
        return collection(self._element(value, given))

    def _iterator(self, given: Arguments) -> Value:
        value = given.get(0)
        iterate = self._engine.classes.method(value, "__iter__") if value.kind is Kind.INSTANCE else None
        if iterate is not None:
            return self._engine.call(iterate, [], {}, given.node, given.scope)
        return iterator(self._state, value, given.node)

    def _next(self, given: Arguments) -> Value:
        value = given.get(0)
        if is_loader(value) or value.kind in _FETCHED:
            self._state.mark("fetch")
        if value.kind is Kind.INSTANCE:
            advance = self._engine.classes.method(value, "__next__")
            if advance is not None:
                return self._engine.call(advance, [], {}, given.node, given.scope)
        self._engine.containers.consume(value, given.node)
        return self._element(value, given)

    def _map(self, given: Arguments) -> Value:
        elements = [self._element(value, given) for value in given.values[1:]]
        return collection(self._engine.call(given.get(0), elements, {}, given.node, given.scope))

    def _filter(self, given: Arguments) -> Value:
        return given.get(1)

    # -- objects -----------------------------------------------------------------------------------

    def _dict(self, given: Arguments) -> Value:
        value = given.get(0)
        if value.kind is not Kind.DICT:
            value = pairs(value) or Value(Kind.DICT)
        return Value(Kind.DICT, fields={**value.fields, **given.named}, element=value.element)

    def _vars(self, given: Arguments) -> Value:
        value = given.get(0)
        return Value(Kind.DICT, fields=dict(value.target.fields)) if value.kind is Kind.INSTANCE else value

    def _open(self, given: Arguments) -> Value:
        return path_of(given.get(0, "file"))

    def _names(self, given: Arguments) -> Value:
        return Value(Kind.DICT, fields=dict(given.scope.module.names))

    def _eval(self, given: Arguments) -> Value:
        code = given.get(0)
        if code.kind is Kind.CONSTANT and isinstance(code.detail, str):
            return given.scope.get(code.detail) or UNKNOWN
        classes = [(name, v) for name, v in given.scope.module.names.items() if v.kind is Kind.CLASS]
        return join_all(among(dict(classes[:_CHOICES]), code, self._engine.program.said))

    def _super(self, given: Arguments) -> Value:
        explicit = given.get(0)
        class_ = explicit.target if explicit.kind is Kind.CLASS else _class_of(given.scope)
        receiver = given.values[1] if len(given.values) > 1 else _self_of(given.scope)
        if receiver is None or receiver.kind not in (Kind.INSTANCE, Kind.CLASS) or class_ is None:
            return UNKNOWN
        return Value(Kind.SUPER, target=class_, receiver=receiver)

    def _getattr(self, given: Arguments) -> Value:
        if len(given.values) < 2:
            return UNKNOWN
        return self._engine.attributes.computed(given.values[0], given.values[1:], given.node, given.scope)

    def _setattr(self, given: Arguments) -> Value:
        if len(given.values) != 3:
            return NONE
        field, value = given.values[1], given.values[2]
        for owner in given.values[0].members:
            if owner.kind is Kind.INSTANCE and field.kind is Kind.CONSTANT:
                self._state.set_field(owner.target, str(field.detail), value)
            elif owner.kind is Kind.INSTANCE:
                self._state.set_field(owner.target, ANY_FIELD, join(value, owner.target.fields.get(ANY_FIELD)))
        return NONE

    def _hasattr(self, given: Arguments) -> Value:
        owner, field = given.get(0), given.get(1)
        if owner.kind is not Kind.INSTANCE or field.kind is not Kind.CONSTANT or owner.target.class_ is None:
            return FLAG
        has = field.detail in owner.target.fields or self._engine.classes.method(owner, field.detail) is not None
        return constant(True) if has else FLAG

    def _callable(self, given: Arguments) -> Value:
        value = given.get(0)
        told = value.kind in PLAIN or value.kind is Kind.FUNCTION
        return constant(value.kind is Kind.FUNCTION) if told and not value.maybe_none else FLAG

    def _isinstance(self, given: Arguments) -> Value:
        value, class_ = given.get(0), given.get(1)
        if class_.kind is not Kind.LIBRARY or value.maybe_none:
            return FLAG
        if value.kind in TYPES and value.sure:
            return constant(class_.detail.endswith("Tensor" if value.kind is Kind.TENSOR else "ndarray"))
        types = _TYPES.get(value.kind)
        if types is not None and class_.detail.partition(".")[0] == "builtins":
            return constant(class_.detail.rpartition(".")[2] in types)
        return FLAG

    def _type(self, given: Arguments) -> Value:
        value = given.get(0)
        if value.kind is Kind.INSTANCE and value.target.class_ is not None:
            return Value(Kind.CLASS, target=value.target.class_)
        return library(TYPES[value.kind]) if value.kind in TYPES and value.sure else UNKNOWN


def pairs(value: Value) -> Value | None:
    """The dict that a list of pairs makes."""
    if value.kind is Kind.TUPLE and value.items and all(len(item.items) == 2 for item in value.items):
        known = {item.items[0].detail: item.items[1] for item in value.items if item.items[0].kind is Kind.CONSTANT}
        return Value(Kind.DICT, fields=known)
    element = value.element if value.kind is Kind.LIST else None
    return Value(Kind.DICT, element=element.items[1]) if element is not None and len(element.items) == 2 else None


def _is_of_batch(item: Value) -> bool:
    """Whether an item of a tuple was collated by a loader, so that the tuple is a batch."""
    return item.origin is not None and item.origin.kind == "batch"


def _class_of(scope: Scope | None) -> Class | None:
    while scope is not None:
        if scope.function is not None and scope.function.class_ is not None:
            return scope.function.class_
        scope = scope.up
    return None


def _self_of(scope: Scope | None) -> Value | None:
    while scope is not None:
        function = scope.function
        if function is not None and function.class_ is not None and not isinstance(function.node, ast.Lambda):
            args = [*function.node.args.posonlyargs, *function.node.args.args]
            found = scope.get(args[0].arg) if args else None
            if found is not None:
                return found
        scope = scope.up
    return None


_COMPARED = frozenset({Kind.TENSOR, Kind.NUMBER, Kind.CONSTANT, *SEQUENCES})
_TYPES = {Kind.TUPLE: ("list", "tuple"), Kind.DICT: ("dict",)}
_FUNCTIONS = {
    **dict.fromkeys(("float", "int", "bool", "complex"), Builtins._convert),
    **dict.fromkeys(("str", "repr", "format"), Builtins._text),
    **dict.fromkeys(("round", "abs"), Builtins._round),
    **dict.fromkeys(("max", "min", "sum", "sorted"), Builtins._reduce),
    **dict.fromkeys(("any", "all"), Builtins._any),
    **dict.fromkeys(("list", "tuple", "set", "reversed", "frozenset"), Builtins._collect),
    **dict.fromkeys(("globals", "locals"), Builtins._names),
    "issubclass": Builtins._flag,
    "callable": Builtins._callable,
    "print": Builtins._print,
    "len": Builtins._length,
    "range": Builtins._range,
    "enumerate": Builtins._enumerate,
    "zip": Builtins._zip,
    "iter": Builtins._iterator,
    "next": Builtins._next,
    "map": Builtins._map,
    "filter": Builtins._filter,
    "dict": Builtins._dict,
    "vars": Builtins._vars,
    "open": Builtins._open,
    "eval": Builtins._eval,
    "super": Builtins._super,
    "getattr": Builtins._getattr,
    "setattr": Builtins._setattr,
    "hasattr": Builtins._hasattr,
    "isinstance": Builtins._isinstance,
    "type": Builtins._type,
}
