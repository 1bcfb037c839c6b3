"""Data loaders: the batch that a loader makes of its dataset."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments
from torchlint.engine.conditions import pins
from torchlint.engine.frames import Made, Scope
from torchlint.engine.state import Left, Returned
from torchlint.engine.union import join_all
from torchlint.engine.values import (
    BATCH,
    CALLABLE,
    ELEMENT,
    NUMBER,
    SEQUENCES,
    SPARSE,
    TEXT,
    UNKNOWN,
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
from torchlint.knowledge.loaders import PARAMETERS

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
_PINNING = frozenset({"pin_memory", "__getattr__", "__getattribute__"})
_NESTED = 3  # containers in a batch


class Loaders:
    """Follows loaders: their datasets and collation run in workers, where nothing is on the accelerator."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def function(self, given: Arguments) -> Value:
        """A function or class of ``torch.utils.data``."""
        dataset, name = given.get(0, "dataset"), given.name
        if name == "DataLoader":
            return self.loader(given)
        if name == "random_split":
            return collection(dataset)
        if name in ("Subset", "ConcatDataset", "ChainDataset"):
            sets = dataset.kind in SEQUENCES
            return self._engine.containers.element(dataset, given.node, given.scope) if sets else dataset
        return Value(Kind.DATASET, items=list(given.values)) if name == "TensorDataset" else UNKNOWN

    def loader(self, given: Arguments) -> Value:
        """A loader over a dataset."""
        named = {**dict(zip(PARAMETERS, given.values, strict=False)), **given.named}
        batch = self.batch(given.get(0, "dataset"), named, given.node, given.scope)
        return Value(Kind.LOADER, element=batch, fields=named)

    def batch(self, dataset: Value, named: dict[str, Value], node: ast.AST, scope: Scope) -> Value:
        """The batch of a loader: the items of its dataset, collated on the host."""
        origin = self._state.origin("batch", node)._replace(pins=pins(named))
        frame = self._state.new_frame(scope.module, "<worker>")
        frame.worker = True
        saved, self._state.worker = self._state.worker, True
        try:
            with self._state.at(frame):
                batch = self._collated(self._item(dataset, node, scope), named.get("collate_fn"), origin, node, scope)
        finally:
            self._state.worker = saved
        if any(leaf.device is Device.ACCELERATOR for leaf in leaves(batch)):
            batch = _unpinned(batch)
        if isinstance(node, ast.Call) and not scope.module.library:
            unpinned = self._unpinned(batch) if _gives_one(named.get("collate_fn", batch), batch) else ""
            made = Made(node, self._state.frame, self._state.region, named, unpinned, frame, dataset)
            self._state.loaders[node, self._state.region] = made
        return batch

    def _item(self, dataset: Value, node: ast.AST, scope: Scope) -> Value | None:
        """What indexing a dataset gives, or iterating over it."""
        if dataset.kind is Kind.UNION:
            dataset = next((member for member in dataset.items if member.kind is Kind.INSTANCE), dataset)
        if dataset.kind is Kind.DATASET and dataset.detail is None:
            usual = Device.ACCELERATOR if self._engine.program.sets_default_device else Device.HOST
            return sequence([tensor(_or(each.device, usual)) for each in dataset.items])
        if dataset.kind in (Kind.GENERATOR, Kind.LIST):
            return dataset.element
        if dataset.kind is not Kind.INSTANCE:
            return None
        for name, args in (("__getitem__", [NUMBER]), ("__iter__", [])):
            method = self._engine.classes.method(dataset, name)
            if method is not None and method.kind is Kind.FUNCTION:
                try:
                    found = self._engine.call(method, args, {}, node, scope)
                    return found if args else self._engine.containers.element(found, node, scope)
                except (Returned, Left):
                    continue
        return None

    def _collated(
        self, item: Value | None, collate: Value | None, origin: Origin, node: ast.AST, scope: Scope
    ) -> Value:
        if collate is not None and collate.kind in CALLABLE and collate.kind is not Kind.LIBRARY:
            try:
                made = self._engine.call(collate, [collection(item or ELEMENT)], {}, node, scope)
                return self._of_object(made, origin) if made.kind is Kind.INSTANCE else _on_host(made, origin)
            except (Returned, Left):
                pass
        known = item is not None and item.kind is not Kind.UNKNOWN
        return _collate(item, origin) if known and item is not None else _batch(origin)

    def _of_object(self, batch: Value, origin: Origin) -> Value:
        """A batch that is an object of the project, which is pinned only if it can do that itself."""
        if self._lacks_pinning(batch):
            origin = origin._replace(kind="computed")
        for name, value in list(batch.target.fields.items()):
            self._state.set_field(batch.target, name, _on_host(value, origin))
        return batch

    def _lacks_pinning(self, batch: Value) -> bool:
        """Whether an object is of a class that is known in whole, is no container, and cannot be pinned."""
        class_ = batch.target.class_
        order, libraries = self._engine.classes.lineage(class_) if class_ is not None else ((), frozenset({""}))
        fields = {*batch.target.fields, *(name for each in order for name in each.fields)}
        return libraries <= _PLAIN_BASES and fields.isdisjoint(_PINNING)

    def _unpinned(self, batch: Value) -> str:
        """What a batch is if pinning leaves it as it is; empty if it does not."""
        if all(member.kind is Kind.INSTANCE and self._lacks_pinning(member) for member in batch.members):
            return str(batch.members[0].detail)
        return "array" if {leaf.kind for leaf in leaves(batch)} == {Kind.ARRAY} else ""


def _gives_one(collate: Value, batch: Value) -> bool:
    """Whether all that a collation gives is known to be of one kind."""
    node = collate.target.node if collate.kind is Kind.FUNCTION else None
    return batch.kind is Kind.UNION or sum(isinstance(part, ast.Return) for part in ast.walk(node or ast.Pass())) < 2


def _or(place: Device | None, usual: Device) -> Device:
    return usual if place is None or place is Device.UNKNOWN else place


def on_device(value: Value, depth: int = _NESTED) -> Value:
    """A batch that something moved to the device."""
    if value.kind is Kind.TENSOR:
        return tensor(Device.ACCELERATOR, sure=value.sure, detail=value.detail)
    return _mapped(value, on_device, depth) if depth else value


def prepared(values: list[Value], *, moves: bool = True, by: str = "") -> Value:
    """Accelerate and Fabric: the same things; loaders give batches of the device if it ``moves`` them.

    ``by`` is the library that copies these batches when the loaders are iterated over.
    """
    found = [join_all(_moving(each, by) for each in value.members) if moves else value for value in values]
    return found[0] if len(found) == 1 else sequence(found)


def _moving(value: Value, by: str) -> Value:
    if value.kind is not Kind.LOADER:
        return value
    batch = value.element or UNKNOWN
    origins = [leaf.origin for leaf in leaves(batch) if leaf.origin is not None and leaf.origin.kind == "batch"]
    origin = origins[0] if origins and by else None
    return Value(Kind.LOADER, by, element=on_device(batch), fields=value.fields, origin=origin)


def _collate(value: Value, origin: Origin, depth: int = _NESTED) -> Value:
    """``default_collate``: numbers and arrays become tensors of the host."""
    if value.is_text:
        return collection(TEXT)
    if value.kind in (Kind.TUPLE, Kind.DICT) or (value.kind is Kind.LIST and value.element is not None):
        return _mapped(value, lambda part, d: _collate(part, origin, d), depth) if depth else _batch(origin)
    if value.kind is Kind.TENSOR and value.device is Device.ACCELERATOR:
        return value
    if value.detail == SPARSE:
        return value.with_origin(computed(origin))
    if value.kind in (Kind.TENSOR, Kind.ARRAY, Kind.NUMBER, Kind.CONSTANT, Kind.FLAG):
        return tensor(Device.HOST, detail=value.detail if value.kind is Kind.TENSOR else None, origin=origin)
    return _batch(origin)


def _on_host(value: Value, origin: Origin, depth: int = _NESTED) -> Value:
    """What a collation of the project gives: its tensors are on the host, unless it moves them."""
    if value.kind is Kind.TENSOR and value.device is Device.ACCELERATOR:
        return value
    if value.kind is Kind.TENSOR:
        known = computed(origin) if value.detail == SPARSE else origin
        return tensor(Device.HOST, detail=value.detail, origin=known)
    if value.kind is Kind.UNKNOWN:
        return _batch(origin)
    return _mapped(value, lambda part, d: _on_host(part, origin, d), depth) if depth else value


def _unpinned(value: Value, depth: int = _NESTED) -> Value:
    """What is on the host in a batch that cannot be pinned."""
    if value.kind is Kind.TENSOR:
        return value.with_origin(computed(value.origin))
    return _mapped(value, _unpinned, depth) if depth else value


def _mapped(value: Value, act: object, depth: int) -> Value:
    apply = act
    assert callable(apply)
    if value.kind is Kind.TUPLE:
        return sequence([apply(item, depth - 1) for item in value.items])
    element = apply(value.element, depth - 1) if value.element is not None else None
    if value.kind is Kind.DICT:
        return Value(Kind.DICT, fields={n: apply(v, depth - 1) for n, v in value.fields.items()}, element=element)
    return collection(element) if value.kind is Kind.LIST else value


def _batch(origin: Origin) -> Value:
    return tensor(Device.HOST, detail=BATCH, origin=origin)
