"""Methods of tensors: what they give, and where the host waits or copies."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.catalogue.functions import method_named
from torchlint.catalogue.records import ARGUMENTS, Function
from torchlint.engine.arguments import Arguments, device_of
from torchlint.engine.memory import PINNED
from torchlint.engine.origins import chosen, is_own, of_call, overwrite
from torchlint.engine.values import (
    COUNTER,
    FLAG,
    INDICES,
    MASK,
    MOVED,
    NONE,
    NUMBER,
    SHAPE,
    TEXT,
    Device,
    Kind,
    Origin,
    Value,
    collection,
    computed,
    leaves,
    sequence,
    tensor,
)
from torchlint.knowledge import forms
from torchlint.libraries.devices import Devices

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_HOST_TYPE = re.compile(r"torch\.\w*Tensor$")


class Tensors:
    """Follows methods of tensors."""

    def __init__(self, engine: Engine, devices: Devices) -> None:
        self._engine, self._state, self._devices = engine, engine.state, devices

    def method(self, given: Arguments) -> Value:
        """``tensor.name(..)``"""
        found, calls = self._method(given), given.receiver.fields
        return found.joined(calls) if given.receiver.kind is Kind.TENSOR and method_named(given.name).keeps else found

    def _method(self, given: Arguments) -> Value:
        name = given.name
        special = _METHODS.get(name)
        if special is not None:
            return special(self, given)
        owner, known = given.receiver, method_named(name)
        if known.place == "host":
            return self._read(given)
        if known.waits is not None and self._state.on_device(owner) and (owner.sure or known.only):
            form = forms.waiting(method=True, counts=known.counts is not None)
            self._state.happen(given.node, given.scope, form, name=name)
        if known.gives == "flag":
            return FLAG
        if known.gives in ("number", "size"):
            return SHAPE if name == "size" and not given.values else NUMBER
        if known.takes == "sizes":
            self.sizes(given.all, given)
        self.numbers(known, given, given.all)
        if name.endswith("_"):
            self._state.uses(owner, given.node, writes=True)
            self._writes(owner, given.all, given)
        if gives_pair(known, given.all) and given.get(0).kind is not Kind.TENSOR:
            place = owner.device or Device.UNKNOWN
            origin = self._origin(known, place, given)
            sure = owner.sure or known.only
            return sequence([tensor(place, sure=sure, detail=detail, origin=origin) for detail in (None, INDICES)])
        if known.gives == "list":
            return collection(tensor(owner.device or Device.UNKNOWN, sure=owner.sure, origin=owner.origin))
        if name.startswith("new"):
            return self._new(given)
        return self._result(given)

    def _result(self, given: Arguments) -> Value:
        owner, known = given.receiver, method_named(given.name)
        on_device = device_of(given.all) is Device.ACCELERATOR
        device = Device.ACCELERATOR if on_device else owner.device or Device.UNKNOWN
        keeps = known.keeps != "" and not known.dtype
        detail = detail_of(known) or (owner.detail if keeps else None)
        same = known.keeps == "content" or (known.dtype != "" and known.memory == "maybe")
        rank = owner.rank if same else rank_of(known, given.values, given.named)
        sure = owner.sure or known.only or (known.reduces != "" and owner.device is Device.ACCELERATOR)
        return tensor(device, sure=sure, detail=detail, origin=self._origin(known, device, given), rank=rank)

    def _origin(self, known: Function, device: Device, given: Arguments) -> Origin | None:
        origin = given.receiver.origin
        if origin is not None and origin.kind == "uploaded":
            return origin if known.keeps in ("content", "elements") else None
        if known.place == "pinned" and origin is not None:
            return origin._replace(pins=True)
        if known.keeps and not known.dtype and known.shares and device is not Device.ACCELERATOR:
            return chosen(origin, given.all)
        known = known if known.kernel else method_named(given.name.rstrip("_"))
        return of_call([given.receiver, *given.all], known, device, seeded="generator" in given.named)

    def sizes(self, values: Sequence[Value], given: Arguments) -> None:
        """Tensors as sizes are read."""
        for value in values:
            for part in value.items if value.kind is Kind.TUPLE else (value,):
                self._state.waits(part, given.node, given.scope, forms.SIZE)

    def numbers(self, known: Function, given: Arguments, others: Sequence[Value]) -> None:
        """Tensors as numbers are read; ``others`` are the arguments besides the tensor that is computed with."""
        limits = known.takes == "limits" and any(other.kind in (Kind.NUMBER, Kind.CONSTANT) for other in others)
        if known.takes == "last":
            others = [given.named["value"]] if "value" in given.named else others[-1:]
        elif known.takes not in ("numbers", "counts") and not limits:
            others = [value for keyword, value in given.named.items() if keyword in _NUMBERS]
        for other in others:
            for part in other.items if other.kind is Kind.TUPLE else (other,):
                if part.device is Device.ACCELERATOR:
                    self._state.waits(part, given.node, given.scope, forms.NUMBER)

    # -- reads -------------------------------------------------------------------------------------

    def _read(self, given: Arguments) -> Value:
        owner, name = given.receiver, given.name
        on_device = self._state.on_device(owner)
        computed_there = name == "cpu" and owner.device is Device.ACCELERATOR  # what a model gives
        if on_device and (owner.sure or computed_there or name in ("item", "tolist")):
            self._state.happen(given.node, given.scope, forms.READ_METHOD, owner.origin, name=name)
        if name != "cpu":
            self._state.involve(owner)
        uploaded = owner.device is Device.ACCELERATOR
        read = uploaded or (on_device and (name != "numpy" or owner.origin is None))
        origin = self._state.origin("read", given.node) if read else owner.origin
        if name == "numpy":
            return Value(Kind.ARRAY, origin=origin)
        if name == "cpu":
            return tensor(Device.HOST, sure=owner.sure, detail=owner.detail, origin=origin, rank=owner.rank)
        number = Value(Kind.NUMBER, origin=origin) if read else NUMBER
        return collection(number) if name == "tolist" else number

    # -- moves -------------------------------------------------------------------------------------

    def _backward(self, given: Arguments) -> Value:
        self._state.queue("backward", given.node)
        return NONE

    def _to(self, given: Arguments) -> Value:
        owner = given.receiver
        device = self._devices.target(given)
        if device is None:
            kept = computed(owner.origin)
            return tensor(owner.device or Device.UNKNOWN, sure=owner.sure, origin=kept, rank=owner.rank)
        return self._devices.moved(owner, device, given)

    def _cuda(self, given: Arguments) -> Value:
        return self._devices.moved(given.receiver, Device.ACCELERATOR, given)

    def _type(self, given: Arguments) -> Value:
        owner, wanted = given.receiver, given.get(0)
        if not given.values:
            return Value(Kind.TEXT, device=self._devices.of(owner))
        if wanted.kind is Kind.TEXT and wanted.device is not None:
            return self._devices.moved(owner, wanted.device, given)
        name = wanted.detail if wanted.kind in (Kind.LIBRARY, Kind.CONSTANT) and isinstance(wanted.detail, str) else ""
        if ".cuda" in name:
            return self._devices.moved(owner, Device.ACCELERATOR, given)
        if _HOST_TYPE.match(name) and self._state.on_device(owner):
            found = self._devices.moved(owner, Device.HOST, given)
            return found if owner.device is Device.ACCELERATOR else found.with_origin(None)  # mostly only converted
        detail = MASK if "bool" in name.lower() else None
        return tensor(owner.device or Device.UNKNOWN, detail=detail, origin=computed(owner.origin))

    def _type_as(self, given: Arguments) -> Value:
        device = self._devices.of(given.get(0, "tensor")) or given.receiver.device
        return self._devices.moved(given.receiver, device or Device.UNKNOWN, given)

    def _copy(self, given: Arguments) -> Value:
        owner, source = given.receiver, given.get(0, "src")
        if owner.device is Device.HOST and source.kind is Kind.TENSOR and source.device is Device.ACCELERATOR:
            if owner.memory is not None and owner.memory.kind == PINNED and self._devices.is_asynchronous(given):
                self._devices.queue(given, owner.memory)
            else:
                self._state.happen(given.node, given.scope, forms.COPIED_TO_HOST)
        elif owner.device is Device.ACCELERATOR and (source.kind is Kind.ARRAY or source.device is Device.HOST):
            self._devices.copy(given, source.origin, source.memory)
        else:
            self._state.uses(owner, given.node, writes=True)
        self._writes(owner, [source], given)
        return owner.overwritten()

    def _writes(self, owner: Value, values: Sequence[Value], given: Arguments) -> None:
        """A method writes values into a tensor; ``requires_grad_`` leaves that to an optimizer."""
        self._state.alter(owner, lasting=given.name == "requires_grad_")
        if not is_own(values):
            self._state.involve(owner)
        if isinstance(given.node.func, ast.Attribute):
            overwrite(given.node.func.value, owner, given.scope)

    def _new(self, given: Arguments) -> Value:
        owner, name = given.receiver, given.name
        if name == "new_tensor" and self._state.on_device(owner):
            data = given.get(0)
            content = data.origin or self._state.origin(content_of(data, given.node), given.node)
            self._state.happen(given.node, given.scope, forms.HOST_DATA, content, name=name)
        origin = self._state.origin("made", given.node) if owner.device is Device.HOST else None
        return tensor(owner.device or Device.UNKNOWN, origin=origin)

    def _repeat_interleave(self, given: Arguments) -> Value:
        if (
            given.get(0).kind is Kind.TENSOR
            and "output_size" not in given.named
            and self._state.on_device(given.receiver)
        ):
            self._state.happen(given.node, given.scope, forms.REPEATS)
        return self._result(given)

    # -- what may be a dict of tensors -------------------------------------------------------------

    def _items(self, given: Arguments) -> Value:
        return collection(sequence([TEXT, self._part(given)]))

    def _values(self, given: Arguments) -> Value:
        return collection(self._part(given))

    def _keys(self, given: Arguments) -> Value:
        return collection(TEXT)

    def _get(self, given: Arguments) -> Value:
        number = given.get(1).kind in (Kind.NUMBER, Kind.CONSTANT)
        return NUMBER if number and len(given.values) > 1 else self._part(given)

    def _update(self, given: Arguments) -> Value:
        return NONE

    def _part(self, given: Arguments) -> Value:
        owner = given.receiver
        return tensor(owner.device or Device.UNKNOWN, sure=owner.detail == MOVED, origin=owner.origin)


def content_of(data: Value, node: ast.AST) -> str:
    """What the data of the host are of which a call makes a tensor, as ``Origin`` names it."""
    if data.kind is Kind.ARRAY:
        return "array"
    if _is_generated(data, next(iter(getattr(node, "args", ())), node)):
        return "generated"
    every = list(leaves(data))
    if not every or any(leaf.kind not in _PLAIN or leaf.is_text or leaf.is_none for leaf in every):
        return "data"
    if len(every) == 1 and data.kind not in (Kind.LIST, Kind.GENERATOR):
        return "number"
    return "constant numbers" if all(leaf.kind is Kind.CONSTANT and leaf.sure for leaf in every) else "numbers"


def _is_generated(data: Value, node: ast.AST) -> bool:
    """``[0] * n``, ``range(n)``: whether a list repeats a number or a range, so that a factory can make the same."""
    if data.kind is Kind.RANGE:
        return True
    element = data.element if data.kind is Kind.LIST else None
    if element is None or element.kind is Kind.LIST:
        return element is not None and _is_generated(element, getattr(node, "elt", node))
    if element.kind is Kind.CONSTANT:
        return element.sure and element.option is None and isinstance(element.detail, (int, float))
    filtered = isinstance(node, ast.ListComp) and any(clause.ifs for clause in node.generators)
    return element is COUNTER and isinstance(node, (ast.Call, ast.ListComp)) and not filtered


def detail_of(known: Function) -> str | None:
    """The detail of what a function or method gives: a mask, or integers."""
    return MASK if known.makes_mask else INDICES if known.gives == "indices" or known.dtype[:3] == "int" else None


def rank_of(known: Function, others: Sequence[Value], named: Mapping[str, Value]) -> int | None:
    """The number of dimensions of what a function or method gives, with these arguments besides the tensor."""
    if known.rank is not None and known.rank != ARGUMENTS:
        return known.rank
    return 0 if known.reduces and not others and _OF_DIMENSIONS.isdisjoint(named) else None


def gives_pair(known: Function, others: Sequence[Value]) -> bool:
    """Whether a function or method gives values and indices; some do with a dimension."""
    return known.gives == "pair" or (known.gives == "pair with dim" and bool(others))


_OF_DIMENSIONS = frozenset("dim axis keepdim keepdims out **".split())
_PLAIN = frozenset({Kind.NUMBER, Kind.CONSTANT})
_NUMBERS = ("alpha", "beta", "value")  # arguments by name that are numbers, of functions that also take tensors
_METHODS = {
    "backward": Tensors._backward,
    "to": Tensors._to,
    "cuda": Tensors._cuda,
    "type": Tensors._type,
    "type_as": Tensors._type_as,
    "copy_": Tensors._copy,
    "repeat_interleave": Tensors._repeat_interleave,
    "items": Tensors._items,
    "values": Tensors._values,
    "keys": Tensors._keys,
    "get": Tensors._get,
    "pop": Tensors._get,
    "update": Tensors._update,
    "append": Tensors._update,
}
