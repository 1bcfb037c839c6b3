"""Methods of things that are neither tensors nor objects with a method of that name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.catalogue.views import CASTS, SHARING
from torchlint.engine.arguments import OTHERS, Arguments, device_of
from torchlint.engine.chosen import among
from torchlint.engine.containers import ANY_FIELD, BATCHES, forget_options
from torchlint.engine.device_names import is_named
from torchlint.engine.origins import chosen, read_among
from torchlint.engine.paths import filled, path_of
from torchlint.engine.started import iterator
from torchlint.engine.union import join, join_all
from torchlint.engine.values import (
    ELEMENT,
    FLAG,
    NONE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Device,
    Kind,
    Value,
    collection,
    computed,
    constant,
    sequence,
    tensor,
)
from torchlint.knowledge import following as known
from torchlint.knowledge import forms
from torchlint.knowledge.arrays import ON_DEVICE
from torchlint.knowledge.synchronization import CHECKING_METHODS
from torchlint.libraries.devices import Devices
from torchlint.libraries.loaders import Loaders
from torchlint.libraries.modules import Modules
from torchlint.libraries.unknowns import Unknowns

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_ITEMS = 24  # of a list that are known one by one
_FIELDS = 16  # of a dict whose items are known one by one
_ADDING = frozenset("append add appendleft put put_nowait insert".split())
_TAKING = frozenset("pop popleft get get_nowait".split())


class Things:
    """Follows methods of containers, modules, optimizers and of what is not known."""

    def __init__(self, engine: Engine, devices: Devices, loaders: Loaders) -> None:
        self._engine, self._state = engine, engine.state
        self._devices, self._loaders = devices, loaders
        self._modules, self._unknowns = Modules(engine), Unknowns(engine, devices)

    def method(self, given: Arguments) -> Value:
        """``thing.name(..)``"""
        if given.receiver.kind in (Kind.UNKNOWN, Kind.METHOD):
            return self._unknowns.method(given)
        follow = _KINDS.get(given.receiver.kind)
        return follow(self, given) if follow is not None else UNKNOWN

    # -- containers --------------------------------------------------------------------------------

    def _list(self, given: Arguments) -> Value:
        owner = given.receiver
        added = given.values[-1] if given.values else None
        if given.name in _ADDING:
            owner.element = join(owner.element, added)
            return NONE
        if given.name in ("extend", "update") and added is not None:
            owner.element = join(owner.element, self._engine.containers.element(added, given.node, given.scope))
            return NONE
        if given.name in _TAKING:
            return owner.element or UNKNOWN
        return owner if given.name in ("copy", "tolist") else UNKNOWN

    def _tuple(self, given: Arguments) -> Value:
        owner = given.receiver
        if given.name in ("append", "insert", "extend") and given.values:
            added = given.values[-1]
            if given.name == "extend":
                added = self._engine.containers.element(added, given.node, given.scope)
            if len(owner.items) < _ITEMS:
                owner.items.append(added)
            return NONE
        if given.name == "pop":
            return owner.items[-1] if owner.items else UNKNOWN
        return self._moved(given) if given.name in ("to", "cuda") else owner if given.name == "copy" else UNKNOWN

    def _dict(self, given: Arguments) -> Value:
        owner = given.receiver
        follow = _OF_DICTS.get(given.name)
        if follow is not None:
            return follow(self, given)
        if given.name in ("to", "cuda"):
            return self._moved(given)
        if given.name == "copy":
            return Value(Kind.DICT, fields=dict(owner.fields), element=owner.element)
        return UNKNOWN

    def _any_value(self, owner: Value, name: Value | None = None) -> Value:
        fields = among(owner.fields, name, self._engine.program.said) if name is not None else owner.fields.values()
        values = [*fields, *([owner.element] if owner.element is not None else [])]
        return join_all(values) if values else ELEMENT if owner.is_batch else UNKNOWN

    def _is_known(self, owner: Value) -> bool:
        return 0 < len(owner.fields) <= _FIELDS and owner.element is None

    def _items(self, given: Arguments) -> Value:
        owner = given.receiver
        if self._is_known(owner):
            return sequence([sequence([constant(name), value]) for name, value in owner.fields.items()])
        return collection(sequence([TEXT, self._any_value(owner)]))

    def _values(self, given: Arguments) -> Value:
        owner = given.receiver
        return sequence(list(owner.fields.values())) if self._is_known(owner) else collection(self._any_value(owner))

    def _keys(self, given: Arguments) -> Value:
        return collection(TEXT)

    def _get(self, given: Arguments) -> Value:
        owner, name, default = given.receiver, given.get(0), given.values[1] if len(given.values) > 1 else None
        known_ = name.kind is Kind.CONSTANT and name.sure
        if known_ and name.detail in owner.fields:
            return owner.fields[name.detail]
        if not known_ and owner.fields:
            return self._any_value(owner, name)
        if owner.element is not None:
            return owner.element
        return default or (NONE if known_ and owner.detail is None else UNKNOWN)

    def _set_default(self, given: Arguments) -> Value:
        name = given.get(0)
        if name.kind is Kind.CONSTANT and len(given.values) > 1:
            return given.receiver.fields.setdefault(name.detail, given.values[1])
        return self._get(given)

    def _update(self, given: Arguments) -> Value:
        owner = given.receiver
        for value in given.values:
            if value.kind is Kind.UNKNOWN or value.detail == OTHERS:
                forget_options(owner)
            if value.kind is Kind.DICT and value is not owner:
                owner.fields.update(value.fields)
                owner.element = join(owner.element, value.element) if value.element else owner.element
        owner.fields.update(given.named)
        return NONE

    def _moved(self, given: Arguments) -> Value:
        device = Device.ACCELERATOR if given.name == "cuda" else self._devices.target(given)
        return self._devices.moved_all(given.receiver, device, given) if device is not None else given.receiver

    def _string(self, given: Arguments) -> Value:
        if given.name == "format":
            for value in given.all:
                self._state.reads(value, given.node, given.scope, forms.FORMATTED)
            return filled(given.receiver, given.values)
        if given.name == "joinpath":
            return path_of(given.receiver, *given.values)
        if given.name in _SAME_FILE:
            return given.receiver
        if given.name in ("split", "rsplit", "splitlines"):
            return collection(TEXT)
        same = is_named(given.receiver, given.get(0)) if given.name == "startswith" else None
        if same is not None:
            return constant(same)
        return FLAG if given.name in ("startswith", "endswith", "isdigit") else TEXT

    def _constant(self, given: Arguments) -> Value:
        return self._string(given) if given.receiver.is_text else UNKNOWN

    def _array(self, given: Arguments) -> Value:
        origin = given.receiver.origin
        if given.name in ("item", "tolist"):
            number = Value(Kind.NUMBER, origin=read_among([given.receiver]))
            return number if given.name == "item" else collection(number)
        if given.name not in _VIEWS:
            origin = computed(origin) if given.name in ON_DEVICE or read_among([given.receiver]) is None else None
            self._state.alter(given.receiver)  # as `sort` and `fill` do
        return Value(Kind.ARRAY, origin=chosen(origin, given.all))

    def _shape(self, given: Arguments) -> Value:
        return NUMBER

    def _generator(self, given: Arguments) -> Value:
        if given.name in ("next", "__next__") and given.receiver.detail == "loader":
            self._state.mark("fetch")
        return given.receiver.element or UNKNOWN if given.name in ("next", "__next__", "send") else UNKNOWN

    def _loader(self, given: Arguments) -> Value:
        owner = given.receiver
        if owner.target is not None:
            method = self._engine.classes.method(Value(Kind.INSTANCE, target=owner.target), given.name)
            if method is not None:
                return self._engine.call(method, given.values, given.named, given.node, given.scope)
        if given.name in ("next", "__next__"):
            self._state.mark("fetch")
            return owner.element or UNKNOWN
        if given.name == "__iter__":
            return iterator(self._state, owner, given.node)
        return NUMBER if given.name == "__len__" else owner if given.name in _SAME_LOADER else UNKNOWN

    # -- objects -----------------------------------------------------------------------------------

    def _instance(self, given: Arguments) -> Value:
        owner, libraries = given.receiver, self._engine.classes.libraries_of(given.receiver)
        if self._engine.classes.is_module(owner):
            found = self._modules.method(given)
            if found is not UNKNOWN:
                return found
        if given.name in ("backward", "manual_backward"):
            self._state.queue("backward", given.node)
            return NONE
        if given.name == "step":
            optimizes = any(base.startswith("torch.optim") for base in libraries)
            if optimizes or given.node is not self._state.discarded:  # what an environment gives is used
                self._state.mark("step" if optimizes else "act")
                self._state.do(given.node)
            return UNKNOWN
        if given.name == "start" and any(base.endswith(("Thread", "Process")) for base in libraries):
            run = self._engine.classes.method(owner, "run")
            return self._engine.call(run, [], {}, given.node, given.scope) if run is not None else UNKNOWN
        if given.name in ("get", "pop") and given.get(0).detail in owner.target.fields:
            return owner.target.fields[given.get(0).detail]  # type: ignore[no-any-return]
        if given.name in ("items", "values") and ANY_FIELD in owner.target.fields:
            value = owner.target.fields[ANY_FIELD]
            return collection(sequence([TEXT, value]) if given.name == "items" else value)
        if given.name in known.LOGGING:
            self._unknowns.log(given)
        return UNKNOWN

    def _class(self, given: Arguments) -> Value:
        """``Function.apply``, which runs ``forward`` now and ``backward`` later; constructors of libraries."""
        class_ = given.receiver
        if given.name != "apply":
            return self._engine.classes.instantiate(class_.target, [], {}, given.node, given.scope)
        result = UNKNOWN
        backward = [UNKNOWN, tensor(Device.ACCELERATOR)]
        for method, args in (("forward", [UNKNOWN, *given.values]), ("backward", backward)):
            order = self._engine.classes.lineage(class_.target)[0]
            function = next((each.fields[method] for each in order if method in each.fields), None)
            if function is not None and function.kind is Kind.FUNCTION:
                found = self._engine.calls.invoke(function.target, args, {}, given.node)
                result = found if method == "forward" else result
        return result if result.kind is not Kind.UNKNOWN else tensor(Device.ACCELERATOR)

    def _super(self, given: Arguments) -> Value:
        owner = given.receiver.receiver
        if owner is None:
            return UNKNOWN
        if given.name == "__init__":
            self._construct_base(owner, given)
            return NONE
        if given.name == "__iter__" and BATCHES in owner.target.fields:
            return Value(Kind.LOADER, element=owner.target.fields[BATCHES])
        if given.name == "forward":
            return tensor(device_of(given.all) or Device.ACCELERATOR, sure=False)
        return owner if given.name in known.SELF_RETURNING else self._instance(given._replace(receiver=owner))

    def _construct_base(self, owner: Value, given: Arguments) -> None:
        """``super().__init__(dataset, ..)`` of a loader."""
        libraries = self._engine.classes.libraries_of(owner)
        if any(known.LOADER.search(name.rpartition(".")[2]) for name in libraries):
            dataset = given.get(0, "dataset")
            hands_on = any(isinstance(argument, ast.Starred) for argument in given.node.args)
            node = owner.target.node if hands_on and owner.target.node is not None else given.node
            batch = self._loaders.batch(dataset, given.named, node, given.scope)
            owner.target.fields[BATCHES] = batch

    # -- optimizers ---------------------------------------------------------------------------------

    def _module(self, given: Arguments) -> Value:
        return self._modules.method(given)

    def _optimizer(self, given: Arguments) -> Value:
        if given.name == "step":
            self._state.queue("step", given.node)
            for closure in given.all:
                if closure.kind is Kind.FUNCTION:
                    self._engine.call(closure, [], {}, given.node, given.scope)
        if given.name == "backward":
            self._state.queue("backward", given.node)
        return given.get(0) if given.name == "scale" else UNKNOWN

    # -- of other things ---------------------------------------------------------------------------

    def _distribution(self, given: Arguments) -> Value:
        """A method of a distribution, which may check the value that it gets, or the deviations."""
        owner, name = given.receiver, given.name
        device = device_of([*given.all, tensor(owner.device or Device.UNKNOWN)]) or Device.UNKNOWN
        if device is Device.ACCELERATOR and name in CHECKING_METHODS and owner.sure:
            self._state.happen(given.node, given.scope, forms.SUPPORT, name=name)
        elif device is Device.ACCELERATOR and name == "sample" and owner.detail == "Normal":
            self._state.happen(given.node, given.scope, forms.SAMPLED)
        return tensor(device)

    def _stream(self, given: Arguments) -> Value:
        if given.name == "synchronize":
            self._state.happen(given.node, given.scope, given.receiver.detail)
        return Value(Kind.STREAM, forms.EVENT) if given.name == "record_event" else UNKNOWN

    def _packed(self, given: Arguments) -> Value:
        owner = given.receiver
        if given.name in ("to", "cuda") and owner.device is Device.HOST:
            self._devices.copy(given, owner.origin)
            return Value(Kind.PACKED, device=Device.ACCELERATOR)
        return owner

    def _function(self, given: Arguments) -> Value:
        if given.name not in ("apply", "__call__"):
            return UNKNOWN
        return self._engine.call(given.receiver, given.values, given.named, given.node, given.scope)


_VIEWS = SHARING - CASTS.keys()
_SAME_FILE = frozenset("open read read_text read_bytes resolve absolute expanduser as_posix strip".split())
_SAME_LOADER = frozenset("shuffle batch with_epoch repeat map set_epoch".split())
_OF_DICTS = {
    "items": Things._items,
    "values": Things._values,
    "keys": Things._keys,
    "get": Things._get,
    "pop": Things._get,
    "setdefault": Things._set_default,
    "update": Things._update,
}
_KINDS = {
    Kind.LIST: Things._list,
    Kind.TUPLE: Things._tuple,
    Kind.DICT: Things._dict,
    Kind.TEXT: Things._string,
    Kind.CONSTANT: Things._constant,
    Kind.ARRAY: Things._array,
    Kind.SHAPE: Things._shape,
    Kind.GENERATOR: Things._generator,
    Kind.LOADER: Things._loader,
    Kind.INSTANCE: Things._instance,
    Kind.CLASS: Things._class,
    Kind.SUPER: Things._super,
    Kind.LIBRARY_MODULE: Things._module,
    Kind.MODULES: Things._module,
    Kind.OPTIMIZER: Things._optimizer,
    Kind.DISTRIBUTION: Things._distribution,
    Kind.STREAM: Things._stream,
    Kind.PACKED: Things._packed,
    Kind.FUNCTION: Things._function,
}
