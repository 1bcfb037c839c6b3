"""Attributes of values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.catalogue.functions import META_ATTRIBUTES, METHODS, TENSOR_ATTRIBUTES
from torchlint.engine.chosen import among
from torchlint.engine.containers import ANY_FIELD
from torchlint.engine.device_names import name_of
from torchlint.engine.frames import Scope
from torchlint.engine.union import join, join_all
from torchlint.engine.values import (
    ANY_MODULE,
    CALLABLE,
    FLAG,
    MOVED,
    NUMBER,
    SHAPE,
    TEXT,
    UNKNOWN,
    Device,
    Kind,
    Value,
    constant,
    library,
    tensor,
)
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_CALLED = (*known.CALLED_IN_STEPS, "forward")
_MEMBERS = 8  # of an object that a computed name may mean


class Attributes:
    """Looks attributes up."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def of(self, owner: Value, name: str, node: ast.AST, scope: Scope) -> Value:
        """``owner.name``"""
        kind = owner.kind
        if kind is Kind.UNION:
            found = self._engine.containers.each(owner, lambda member: self.of(member, name, node, scope))
            return Value(Kind.METHOD, name, receiver=owner) if found.kind is Kind.METHOD else found
        if kind is Kind.INSTANCE:
            return self._of_instance(owner, name, node, scope)
        if kind is Kind.MODULE:
            return self._of_module(owner, name)
        if kind is Kind.CLASS:
            return self._of_class(owner, name)
        if kind is Kind.SUPER:
            return self._of_super(owner, name, node, scope)
        if kind is Kind.TENSOR:
            return self._of_tensor(owner, name)
        if kind is Kind.LIBRARY and name == "__name__":
            return constant(owner.detail.rpartition(".")[2])
        if kind is Kind.LIBRARY:
            return self._engine.libraries.named(f"{owner.detail}.{name}")
        if kind is Kind.PACKAGE:
            inner = self._engine.loaded(f"{owner.detail}.{name}")
            return inner or Value(Kind.PACKAGE, f"{owner.detail}.{name}")
        return self._of_other(owner, name)

    # -- of things of the project ------------------------------------------------------------------

    def _of_instance(self, owner: Value, name: str, node: ast.AST, scope: Scope) -> Value:
        found = self._state.field(owner.target, name)
        if found is not None:
            return found
        classes = self._engine.classes
        method = classes.method(owner, name)
        if method is not None:
            is_property = method.kind is Kind.FUNCTION and method.target.kind == "property"
            return self._engine.call(method, [], {}, node, scope) if is_property else method
        if owner.target.class_ is None:
            return Value(Kind.METHOD, name, receiver=owner) if name in _MAPPING else UNKNOWN
        if name == "__class__":
            return Value(Kind.CLASS, target=owner.target.class_)
        if name == "__dict__":
            return Value(Kind.DICT, fields=dict(owner.target.fields))
        return self._missing(owner, name, node, scope)

    def _missing(self, owner: Value, name: str, node: ast.AST, scope: Scope) -> Value:
        """An attribute that neither the object nor its class shows to have."""
        is_module = self._engine.classes.is_module(owner)
        get = self._engine.classes.method(owner, "__getattr__")
        if get is not None and get.kind is Kind.FUNCTION:
            return self._engine.call(get, [TEXT], {}, node, scope)
        if is_module:
            special = {"module": owner, "training": FLAG, "device": Value(Kind.DEVICE, device=Device.ACCELERATOR)}
            if name in special:
                return special[name]
        elif ANY_FIELD in owner.target.fields:
            return owner.target.fields[ANY_FIELD]  # type: ignore[no-any-return]
        return Value(Kind.METHOD, name, receiver=owner)

    def _of_module(self, owner: Value, name: str) -> Value:
        module = owner.target
        found = module.names.get(name)
        if found is not None:
            return found  # type: ignore[no-any-return]
        inner = self._engine.loaded(f"{module.name}.{name}")
        if inner is not None:
            return inner
        star = module.names.get("*")
        return library(f"{star.detail}.{name}") if star is not None else UNKNOWN

    def _of_class(self, owner: Value, name: str) -> Value:
        for each in self._engine.classes.lineage(owner.target)[0]:
            found = each.fields.get(name)
            if found is not None:
                is_class_method = found.kind is Kind.FUNCTION and found.target.kind == "class"
                return Value(Kind.FUNCTION, name, target=found.target, receiver=owner) if is_class_method else found
        if name in ("__name__", "__doc__"):
            return constant(owner.target.name) if name == "__name__" else TEXT
        return Value(Kind.METHOD, name, receiver=owner) if name in _OF_CLASSES else UNKNOWN

    def _of_super(self, owner: Value, name: str, node: ast.AST, scope: Scope) -> Value:
        receiver = owner.receiver
        assert receiver is not None
        of_class = receiver.kind is Kind.CLASS
        order = self._engine.classes.lineage(receiver.target if of_class else receiver.target.class_)[0]
        behind = order[order.index(owner.target) + 1 :] if owner.target in order else order
        for each in behind:
            found = each.fields.get(name)
            if found is None:
                continue
            if found.kind is not Kind.FUNCTION:
                return found
            bound = Value(Kind.FUNCTION, name, target=found.target, receiver=receiver)
            return self._engine.call(bound, [], {}, node, scope) if found.target.kind == "property" else bound
        if of_class:
            return Value(Kind.METHOD, name, receiver=receiver) if name in _OF_CLASSES else UNKNOWN
        return Value(Kind.METHOD, name, receiver=Value(Kind.SUPER, receiver=receiver))

    # -- of things of libraries --------------------------------------------------------------------

    def _of_tensor(self, owner: Value, name: str) -> Value:
        if name == "device":
            unknown = Device.HOST if self._state.worker else Device.ACCELERATOR
            return Value(Kind.DEVICE, device=owner.device if owner.device is not Device.UNKNOWN else unknown)
        if name == "shape":
            return SHAPE
        if name in META_ATTRIBUTES:
            return FLAG if name in ("is_cuda", "requires_grad") else UNKNOWN
        device = owner.device or Device.UNKNOWN
        if name in TENSOR_ATTRIBUTES:
            return tensor(device, sure=owner.sure, origin=owner.origin if name != "grad" else None)
        in_place = name.endswith("_") or (owner.sure and name.startswith(("new_", "logical_", "bitwise_")))
        if name in METHODS or name in _OF_DICTS or in_place:
            return Value(Kind.METHOD, name, receiver=owner)
        detail = MOVED if owner.detail == MOVED else None
        return tensor(device, sure=name in known.TENSOR_FIELDS, detail=detail, origin=owner.origin)

    def _of_other(self, owner: Value, name: str) -> Value:
        kind = owner.kind
        if kind in (Kind.DICT, Kind.LOADER) and name in owner.fields:
            return owner.fields[name]
        if kind is Kind.LOADER and owner.target is not None and name in owner.target.fields:
            return owner.target.fields[name]  # type: ignore[no-any-return]
        if kind is Kind.LIBRARY_MODULE and name in _OF_LIBRARY_MODULES:
            return tensor(Device.ACCELERATOR) if name in ("weight", "bias") else owner
        if kind is Kind.DISTRIBUTION and name in _OF_DISTRIBUTIONS:
            return tensor(owner.device or Device.UNKNOWN)
        if kind is Kind.TUPLE and name in _OF_PAIRS and len(owner.items) == len(_OF_PAIRS):
            return owner.items[_OF_PAIRS.index(name)]
        if kind is Kind.PACKED and name in ("data", "batch_sizes"):
            return tensor(Device.HOST if name == "batch_sizes" else owner.device or Device.UNKNOWN)
        if kind is Kind.ARRAY and name in ("shape", "ndim", "size", "dtype"):
            return SHAPE if name == "shape" else NUMBER
        if owner.is_batch and name in ("shape", "dtype", "device"):
            return SHAPE if name == "shape" else Value(Kind.DEVICE, device=Device.HOST) if name == "device" else UNKNOWN
        if kind is Kind.DEVICE and name == "type":
            return name_of(owner)
        if kind is Kind.FUNCTION and name == "__name__":
            return constant(owner.detail) if isinstance(owner.detail, str) else TEXT
        return Value(Kind.METHOD, name, receiver=owner)

    # -- computed names ----------------------------------------------------------------------------

    def computed(self, owner: Value, args: list[Value], node: ast.AST, scope: Scope) -> Value:
        """``getattr(owner, name)`` and ``getattr(owner, name, default)``; the arguments follow the owner."""
        name, default = args[0], args[1] if len(args) > 1 else None
        decided = name.sure and (name.option is None or name.option.given)
        if name.kind is Kind.CONSTANT and decided and isinstance(name.detail, str):
            found = self.of(owner, name.detail, node, scope)
            absent = found.kind is Kind.UNKNOWN or (found.kind is Kind.METHOD and owner.kind is Kind.INSTANCE)
            if default is None or not absent:
                return found
            return join(default, found) if found.kind is not Kind.METHOD else default
        if owner.kind is Kind.UNION:
            return join_all(self.computed(member, args, node, scope) for member in owner.items)
        if owner.kind is Kind.MODULE:
            return self._any_of_module(owner, name)
        if owner.kind is Kind.INSTANCE and owner.target.class_ is not None:
            fields = [value for value in owner.target.fields.values() if value.kind in CALLABLE]
            return join_all(fields[:_MEMBERS]) if fields else owner.target.fields.get(ANY_FIELD, UNKNOWN)
        if owner.kind is Kind.UNKNOWN and owner.detail == ANY_MODULE:
            return join_all(self._named_by_options(scope))
        return library(f"{owner.detail}.?") if owner.kind is Kind.LIBRARY else UNKNOWN

    def _named_by_options(self, scope: Scope) -> list[Value]:
        """The classes whose dotted names are in option files (``target: models.unet.UNet``).

        Those come first that frameworks or steps call, since a union is limited.
        """
        every = [self._engine.named(dotted, scope.module) for dotted in self._engine.program.dotted]
        own = [v for v in every if v is not None and v.kind is Kind.CLASS and not v.target.scope.module.is_test]
        return sorted(own, key=lambda value: not any(name in value.target.fields for name in _CALLED))

    def _any_of_module(self, owner: Value, name: Value) -> Value:
        """The classes that an option may choose in a module: its own, and of them those that its others do not use."""
        module = owner.target
        every = [v for v in module.names.values() if v.kind in (Kind.CLASS, Kind.FUNCTION)]
        own = [value for value in every if value.target.scope.module is module]
        top = [v for v in own if v.kind is Kind.CLASS and module.content.count(v.target.node.name.encode() + b"(") < 2]
        named = {value.target.name: value for value in top or own or every}
        return join_all(among(named, name, self._engine.program.said))


_MAPPING = frozenset("update get items keys values pop setdefault".split())
_OF_DICTS = _MAPPING - {"setdefault"}  # what is taken for a tensor may be a dict of tensors
_OF_CLASSES = frozenset("apply from_pretrained load_from_checkpoint".split())
_OF_LIBRARY_MODULES = frozenset("weight bias module model encoder decoder backbone".split())
_OF_PAIRS = ("values", "indices")  # as `topk` gives
_OF_DISTRIBUTIONS = frozenset("mean probs logits variance stddev loc scale".split())
