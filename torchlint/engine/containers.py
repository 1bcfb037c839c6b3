"""Containers and iterables: their elements and items, and assignments to them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchlint.engine.chosen import declared
from torchlint.engine.frames import Scope
from torchlint.engine.origins import chosen, is_own, one_of, overwrite, read_among
from torchlint.engine.parts import (
    field_at,
    is_content_of_host,
    is_key,
    is_listed,
    is_literal,
    is_number,
    is_tensor_on,
    origin_of_part,
    part_of,
    rank_of_part,
    selects_one,
    stands_in,
)
from torchlint.engine.started import start
from torchlint.engine.state import Left, Returned
from torchlint.engine.union import join, join_all
from torchlint.engine.values import (
    COUNTER,
    ELEMENT,
    INDICES,
    MASK,
    MOVED,
    NONE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Device,
    Kind,
    Origin,
    Value,
    collection,
    leaves,
    sequence,
    tensor,
)
from torchlint.knowledge import forms
from torchlint.knowledge.following import LOADER
from torchlint.project.followed import OWN

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine


_DEEP = 4  # mappings of options


class Containers:
    """Iterates over values, and reads and writes their items."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    # -- iteration ---------------------------------------------------------------------------------

    def iterate(self, iterable: Value, node: ast.AST) -> None:
        """Note what the loop that was just entered iterates over."""
        known, region = is_loader(iterable) or self.holds_loader(iterable), self._state.region
        region.named = region.named or (not known and _named_loader(iterable, getattr(node, "iter", node)))
        region.over_batches = region.over_batches or known or region.named
        loader = iterable.receiver if is_loader(iterable) and iterable.receiver is not None else iterable
        if loader.kind is Kind.LOADER and loader.origin is not None:  # a library copies its batches
            place = Scope({}, self._state.frame.module)
            self._state.happen(node, place, forms.BY_LIBRARY, loader.origin, name=str(loader.detail))
        over = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else node
        if region.up is not None and isinstance(over, ast.expr):
            start(self._state, iterable, over, region.up, whole=region.kind == "loop")
        self.consume(iterable, node)

    def consume(self, iterable: Value, node: ast.AST) -> None:
        """The code of a generator runs where its values are asked for."""
        if iterable.kind is Kind.GENERATOR and iterable.target is not None:
            self._state.called(iterable.target, "generator", node)

    def holds_loader(self, iterable: Value) -> bool:
        """Whether an object that is iterated over has a loader, whose batches it probably yields."""
        objects = [member for member in iterable.members if member.kind is Kind.INSTANCE]
        return any(is_loader(field) for one in objects for field in one.target.fields.values())

    def element(self, iterable: Value, node: ast.AST, scope: Scope) -> Value:
        """What iterating over a value gives."""
        kind = iterable.kind
        if kind in (Kind.LOADER, Kind.LIST, Kind.GENERATOR):
            return one_of(iterable.element or UNKNOWN)
        if kind is Kind.UNION:
            return self.each(iterable, lambda member: self.element(member, node, scope))
        if kind in (Kind.TUPLE, Kind.MODULES):
            return one_of(join_all(iterable.items))
        if kind is Kind.TENSOR or kind is Kind.ARRAY:
            return one_of(part_of(iterable) if kind is Kind.TENSOR else iterable)
        if kind is Kind.DICT:
            return TEXT if iterable.fields and all(isinstance(name, str) for name in iterable.fields) else UNKNOWN
        if kind is Kind.INSTANCE:
            return self._of_instance(iterable, node, scope)
        return _ELEMENTS.get(kind, UNKNOWN)

    def _of_instance(self, iterable: Value, node: ast.AST, scope: Scope) -> Value:
        classes = self._engine.classes
        iterate = classes.method(iterable, "__iter__")
        if iterate is not None:
            iterator = self._engine.call(iterate, [], {}, node, scope)
            if iterator.kind is not Kind.INSTANCE:
                self.consume(iterator, node)
                return self.element(iterator, node, scope)
            advance = classes.method(iterator, "__next__")
            return self._engine.call(advance, [], {}, node, scope) if advance is not None else UNKNOWN
        get = classes.method(iterable, "__getitem__")
        return self._engine.call(get, [NUMBER], {}, node, scope) if get is not None else ELEMENT

    def each(self, union: Value, act: Callable[[Value], Value]) -> Value:
        """What something gives for any member of a union."""
        found: Value | None = None
        for member in union.items:
            try:
                found = join(found, act(member))
            except (Returned, Left):
                continue
        return found if found is not None else UNKNOWN

    # -- items -------------------------------------------------------------------------------------

    def item(self, owner: Value, indices: list[Value | None], node: ast.AST, scope: Scope) -> Value:
        """``owner[indices]``; None among the indices stands for a slice."""
        if owner.kind is Kind.UNION:
            return join_all(self.item(member, indices, node, scope) for member in owner.items)
        for index in indices:
            if index is not None:
                self._index(owner, index, node, scope)
        index = indices[0] if len(indices) == 1 else sequence([each or NONE for each in indices])
        varying = () if isinstance(node, ast.Subscript) and is_literal(node.slice) else (UNKNOWN,)
        if owner.kind is Kind.TENSOR:
            by_name = owner.detail == MOVED and index is not None and index.is_text
            return tensor(
                owner.device or Device.UNKNOWN,
                sure=owner.sure or len(indices) > 1 or by_name,
                detail=owner.detail if not by_name else None,
                origin=chosen(origin_of_part(owner, indices), varying),
                rank=rank_of_part(owner, indices),
            ).joined(owner.fields)
        if owner.kind is Kind.ARRAY:
            return Value(Kind.ARRAY, origin=chosen(origin_of_part(owner, indices), varying))
        if owner.kind is Kind.INSTANCE:
            return self._item_of_instance(owner, index, node, scope)
        return self._plain_item(owner, index)

    def _index(self, owner: Value, index: Value, node: ast.AST, scope: Scope) -> None:
        """What an index makes the host wait for, or copy."""
        state = self._state
        if state.is_on_device(index):
            if owner.kind in (Kind.LIST, Kind.TUPLE) or (owner.kind is Kind.DICT and owner.fields):
                state.happen(node, scope, forms.LIST_INDEX)
            elif owner.kind is Kind.ARRAY or (owner.kind is Kind.TENSOR and owner.device is Device.HOST):
                state.happen(node, scope, forms.HOST_INDEX)
            elif index.detail == MASK and (owner.kind is Kind.UNKNOWN or is_tensor_on(owner, state)):
                state.happen(node, scope, forms.MASK_INDEX)  # nothing else can be indexed with such a mask
            elif index.rank == 0 and index.detail != MASK and is_tensor_on(owner, state):
                state.happen(node, scope, forms.SCALAR_INDEX)
        else:
            self._index_from_host(owner, index, node, scope)

    def _index_from_host(self, owner: Value, index: Value, node: ast.AST, scope: Scope) -> None:
        """An index on the host of a tensor on the device, which is copied there."""
        if owner.kind in (Kind.TENSOR, Kind.ARRAY) and owner.device is not Device.ACCELERATOR and not is_own([owner]):
            self._state.involve(index)
        elif owner.sure and owner.device is Device.ACCELERATOR and is_content_of_host(index):
            self._state.happen(node, scope, forms.DEVICE_INDEX, index.origin)
        elif owner.kind is Kind.TENSOR and owner.device is Device.ACCELERATOR and is_listed(node, index):
            self._state.happen(node, scope, forms.LISTED_INDEX)  # what a list can index, and is no array, is a tensor

    def _item_of_instance(self, owner: Value, index: Value | None, node: ast.AST, scope: Scope) -> Value:
        get = self._engine.classes.method(owner, "__getitem__")
        if get is not None:
            return self._engine.call(get, [index or UNKNOWN], {}, node, scope)
        if index is not None and index.kind is Kind.CONSTANT and index.detail in owner.target.fields:
            return self._state.field(owner.target, index.detail) or UNKNOWN
        return owner.target.fields.get(ANY_FIELD, UNKNOWN)  # type: ignore[no-any-return]

    def _plain_item(self, owner: Value, index: Value | None) -> Value:
        kind = owner.kind
        if kind is Kind.DICT:
            return field_at(owner, index, self._engine.program.said)
        if kind is Kind.TUPLE:
            place = index.detail if index is not None and index.kind is Kind.CONSTANT else None
            if isinstance(place, int) and -len(owner.items) <= place < len(owner.items):
                return owner.items[place]
            return owner if index is None else one_of(join_all(owner.items))
        if kind in (Kind.LIST, Kind.GENERATOR):
            return owner if index is None else one_of(owner.element or UNKNOWN)
        if kind is Kind.MODULES:
            return owner if index is None else join_all(owner.items)
        if kind is Kind.SHAPE:
            return NUMBER if index is not None else owner
        if kind in (Kind.ARRAY, Kind.LIBRARY_MODULE, Kind.TEXT):
            return owner
        if kind is Kind.UNKNOWN and owner.is_batch:
            return ELEMENT
        name = index.detail if index is not None and index.is_text else None
        return declared(name, self._engine.program) or UNKNOWN

    def unpacked(self, value: Value, place: int) -> Value:
        """An element of what is unpacked."""
        if value.kind is Kind.UNION:
            return join_all(self.unpacked(member, place) for member in value.items)
        if value.kind is Kind.TUPLE:
            return value.items[place] if place < len(value.items) else UNKNOWN
        if value.kind in (Kind.LIST, Kind.GENERATOR, Kind.LOADER):
            return value.element or UNKNOWN
        if value.kind is Kind.MODULES:
            return value.items[place] if place < len(value.items) else join_all(value.items)
        if value.kind is Kind.TENSOR:
            return part_of(value)
        if value.kind is Kind.DICT:
            return value.fields.get(place, value.element or UNKNOWN)
        if value.kind is Kind.ARRAY:
            return value
        return NUMBER if value.kind is Kind.SHAPE else ELEMENT if value.is_batch else UNKNOWN

    # -- assignments -------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Bind a target to a value."""
        if isinstance(target, ast.Name):
            unsure = value.kind in (Kind.UNKNOWN, Kind.METHOD) or (value.kind is Kind.TENSOR and not value.sure)
            scope.set(target.id, tensor(Device.ACCELERATOR) if unsure and target.id in scope.losses else value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, scope)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, scope)
        elif isinstance(target, ast.Attribute):
            for owner in self._engine.evaluate(target.value, scope).members:
                self._assign_field(owner, target.attr, value)
        elif isinstance(target, ast.Subscript):
            owner = self._engine.evaluate(target.value, scope)
            self._assign_item(owner, self._engine.evaluate(target.slice, scope), value, target, scope)

    def spread(self, target: ast.expr, node: ast.expr, value: Value) -> Value:
        """What ``b, n, device = *x.shape, x.device`` assigns: one that is spread has as many items as are left."""
        parts = node.elts if isinstance(node, ast.Tuple) else []
        spread = [place for place, part in enumerate(parts) if isinstance(part, ast.Starred)]
        if len(spread) != 1 or not isinstance(target, ast.Tuple) or len(value.items) != len(parts):
            return value
        at = spread[0]
        items = [self.unpacked(value.items[at], place) for place in range(len(target.elts) - len(parts) + 1)]
        return sequence([*value.items[:at], *items, *value.items[at + 1 :]])

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, scope: Scope) -> None:
        if value.kind is Kind.INSTANCE:
            value = collection(self.element(value, target, scope))
        for place, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                self.assign(part.value, collection(self.element(value, target, scope)), scope)
            else:
                self.assign(part, self.unpacked(value, place), scope)

    def _assign_field(self, owner: Value, name: str, value: Value) -> None:
        if owner.kind is Kind.INSTANCE:
            held = owner.target.fields.get(name)
            if value.origin is not None and value.origin.kind == "uploaded":
                value = value.overwritten()  # perhaps by something else, later
            self._state.set_field(owner.target, name, value if value.kind is not Kind.UNKNOWN else join(value, held))
        elif owner.kind is Kind.CLASS:
            owner.target.fields[name] = join(value, owner.target.fields.get(name))
        elif owner.kind is Kind.MODULE:
            owner.target.names[name] = value
        elif owner.kind in (Kind.DICT, Kind.LOADER):
            owner.fields[name] = value
        elif owner.kind is Kind.LIBRARY and value.kind is Kind.FUNCTION:
            self._state.patches.append((f"{owner.detail}.{name}", value.target))

    def _assign_item(self, owner: Value, index: Value, value: Value, node: ast.Subscript, scope: Scope) -> None:
        if index.is_text:
            self._state.note_key(index.detail)
        if owner.kind is Kind.DICT:
            if index.kind is Kind.CONSTANT and isinstance(index.detail, (str, int)):
                owner.fields[index.detail] = value
            else:
                owner.element = join(owner.element, value)
                forget_options(owner)
        elif owner.kind is Kind.LIST:
            owner.element = join(owner.element, value)
        elif owner.kind is Kind.TENSOR and (index.is_text or is_key(owner, index)):
            self._assign_to_batch(owner, index, value, node, scope)
        elif owner.kind in (Kind.TENSOR, Kind.ARRAY):
            self._store(owner, index, value, node, scope)
            if not (is_own([value]) and is_literal(node.slice)):
                self._state.involve(owner)
        elif owner.kind is Kind.INSTANCE:
            store = self._engine.classes.method(owner, "__setitem__")
            if store is not None:
                self._engine.call(store, [index, value], {}, node, scope)
            else:
                known = index.kind is Kind.CONSTANT and isinstance(index.detail, str)
                self._state.set_field(owner.target, index.detail if known else ANY_FIELD, value)

    def _assign_to_batch(self, owner: Value, index: Value, value: Value, node: ast.Subscript, scope: Scope) -> None:
        """A batch of unknown shape that is used as a dict is one."""
        if isinstance(node.value, ast.Name):
            known = index.kind is Kind.CONSTANT
            fields = {index.detail: value} if known else {}
            scope.set(node.value.id, Value(Kind.DICT, fields=fields, element=owner if known else value))

    def _store(self, owner: Value, index: Value, value: Value, node: ast.Subscript, scope: Scope) -> None:
        """``tensor[index] = value`` between the host and the device."""
        state = self._state
        for each in index.items if index.kind is Kind.TUPLE else (index,):
            if each.origin is not None and each.origin.kind in OWN and stands_in(each.origin.node, node.slice):
                self._index_from_host(owner, each, node, scope)
        on_host = owner.kind is Kind.ARRAY or (owner.device is Device.HOST and owner.sure)
        if on_host:
            state.uses(value, node)
            state.uses(owner, node, writes=True)
            state.alter(owner)
            if any(leaf.kind is Kind.TENSOR and leaf.device is Device.ACCELERATOR for leaf in leaves(value)):
                state.happen(node, scope, forms.STORED_ON_HOST)
                self._holds(owner, state.origin("read", node), node, scope)
            elif (read := read_among([value])) is not None:
                self._holds(owner, read, node, scope)
        elif owner.device is Device.ACCELERATOR and value.kind is Kind.TENSOR and value.device is Device.HOST:
            if index.detail == MASK and value.rank == 0:
                return  # which fills
            state.happen(node, scope, forms.STORED_ON_DEVICE, value.origin)
        elif owner.device is Device.ACCELERATOR and value.kind is Kind.ARRAY and not selects_one(index):
            state.happen(node, scope, forms.STORED_ARRAY, value.origin)
        elif index.detail == MASK and all(map(state.is_on_device, (owner, index, value))):
            state.happen(node, scope, forms.MASK_ASSIGNED)
        elif state.is_on_device(owner):
            self._store_at(owner, index, value, node, scope)
        if not on_host:
            overwrite(node.value, owner, scope)

    def _store_at(self, owner: Value, index: Value, value: Value, node: ast.Subscript, scope: Scope) -> None:
        """``tensor[index] = value`` on the device: a number is copied there, unless it fills what it is written to."""
        parts = index.items if index.kind is Kind.TUPLE else [index]
        if any(part.rank == 0 and part.detail != MASK and self._state.is_on_device(part) for part in parts):
            self._state.happen(node, scope, forms.SCALAR_INDEX)
        elif not is_number(value):
            return
        elif any(part.detail == INDICES and self._state.is_on_device(part) for part in parts):
            self._state.happen(node, scope, forms.NUMBER_AT)
        elif owner.rank == len(parts) and all(map(is_number, parts)):
            self._state.happen(node, scope, forms.NUMBER_IN)

    def _holds(self, owner: Value, read: Origin, node: ast.Subscript, scope: Scope) -> None:
        """A buffer of the host has content of the device from now on."""
        if isinstance(node.value, ast.Name):
            scope.set(node.value.id, owner.with_origin(read))


def is_loader(value: Value) -> bool:
    """Whether iterating over a value gives batches of a loader."""
    if value.kind is Kind.UNION:
        return any(is_loader(member) for member in value.items)
    if value.kind is Kind.INSTANCE:
        return BATCHES in value.target.fields
    return value.kind is Kind.LOADER or (value.kind is Kind.GENERATOR and value.detail == "loader")


def _named_loader(iterable: Value, node: ast.AST) -> bool:
    """Whether something of which nothing else is known is called a loader, also in ``enumerate(..)`` and the like."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name not in ("range", "len") and any(_named_loader(iterable, argument) for argument in node.args)
    if isinstance(node, ast.Subscript):
        node = node.value
    name = getattr(node, "attr", getattr(node, "id", ""))
    return iterable.kind in _OPEN and LOADER.search(name) is not None


_OPEN = frozenset({Kind.UNKNOWN, Kind.LIST, Kind.METHOD})


def forget_options(mapping: Value, depth: int = _DEEP) -> None:
    """Something unknown is written over the options in a mapping, or in those inside of it."""
    for name, value in list(mapping.fields.items()):
        if value.option is not None and not value.option.given:
            mapping.fields[name] = UNKNOWN
        elif value.kind is Kind.DICT and depth:
            forget_options(value, depth - 1)


ANY_FIELD = "?"  # the field that stands for those with a name that is not known
BATCHES = "?batches"  # the batches of an object that derives from a loader
_ELEMENTS = {Kind.RANGE: COUNTER, Kind.SHAPE: NUMBER, Kind.UNKNOWN: ELEMENT}
