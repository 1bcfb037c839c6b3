"""Data loaders: the batch that a loader makes of its dataset."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.arguments import OTHERS, Arguments
from torchlint.engine.conditions import truth
from torchlint.engine.frames import Scope
from torchlint.engine.state import Left, Returned
from torchlint.engine.union import join_all
from torchlint.engine.values import (
    BATCH,
    CALLABLE,
    ELEMENT,
    NUMBER,
    SEQUENCES,
    TEXT,
    UNKNOWN,
    Device,
    Kind,
    Option,
    Origin,
    Value,
    collection,
    sequence,
    tensor,
)

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

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
        batch = self.batch(given.get(0, "dataset"), given.named, given.node, given.scope)
        return Value(Kind.LOADER, element=batch, fields=dict(given.named))

    def batch(self, dataset: Value, named: dict[str, Value], node: ast.AST, scope: Scope) -> Value:
        """The batch of a loader: the items of its dataset, collated on the host."""
        origin = self._state.origin("batch", node)._replace(pins=_pins(named))
        frame = self._state.new_frame(scope.module, "<worker>")
        frame.worker = True
        saved, self._state.worker = self._state.worker, True
        try:
            with self._state.at(frame):
                return self._collated(self._item(dataset, node, scope), named.get("collate_fn"), origin, node, scope)
        finally:
            self._state.worker = saved

    def _item(self, dataset: Value, node: ast.AST, scope: Scope) -> Value | None:
        """What indexing a dataset gives, or iterating over it."""
        if dataset.kind is Kind.UNION:
            dataset = next((member for member in dataset.items if member.kind is Kind.INSTANCE), dataset)
        if dataset.kind is Kind.DATASET:
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
                return _on_host(self._engine.call(collate, [collection(item or ELEMENT)], {}, node, scope), origin)
            except (Returned, Left):
                pass
        known = item is not None and item.kind is not Kind.UNKNOWN
        return _collate(item, origin) if known and item is not None else _batch(origin)


def _or(place: Device | None, usual: Device) -> Device:
    return usual if place is None or place is Device.UNKNOWN else place


def _pins(named: dict[str, Value]) -> bool | None:
    """Whether a loader with these arguments pins its batches; None if that is not known."""
    given = named.get("pin_memory")
    if given is None:
        return None if OTHERS in named else False
    return given.option.on if isinstance(given.option, Option) else truth(given)


def on_device(value: Value, depth: int = _NESTED) -> Value:
    """A batch that something moved to the device."""
    if value.kind is Kind.TENSOR:
        return tensor(Device.ACCELERATOR, sure=value.sure, detail=value.detail)
    return _mapped(value, on_device, depth) if depth else value


def prepared(values: list[Value], *, moves: bool = True) -> Value:
    """Accelerate and Fabric: the same things; loaders give batches of the device if it ``moves`` them."""
    found = [join_all(map(_moving, value.members)) if moves else value for value in values]
    return found[0] if len(found) == 1 else sequence(found)


def _moving(value: Value) -> Value:
    if value.kind is not Kind.LOADER:
        return value
    return Value(Kind.LOADER, element=on_device(value.element or UNKNOWN), fields=value.fields)


def _collate(value: Value, origin: Origin, depth: int = _NESTED) -> Value:
    """``default_collate``: numbers and arrays become tensors of the host."""
    if value.is_text:
        return collection(TEXT)
    if value.kind in (Kind.TUPLE, Kind.DICT) or (value.kind is Kind.LIST and value.element is not None):
        return _mapped(value, lambda part, d: _collate(part, origin, d), depth) if depth else _batch(origin)
    if value.kind is Kind.TENSOR and value.device is Device.ACCELERATOR:
        return value
    if value.kind in (Kind.TENSOR, Kind.ARRAY, Kind.NUMBER, Kind.CONSTANT, Kind.FLAG):
        return tensor(Device.HOST, detail=value.detail if value.kind is Kind.TENSOR else None, origin=origin)
    return _batch(origin)


def _on_host(value: Value, origin: Origin, depth: int = _NESTED) -> Value:
    """What a collation of the project gives: its tensors are on the host, unless it moves them."""
    if value.kind is Kind.TENSOR and value.device is Device.ACCELERATOR:
        return value
    if value.kind is Kind.TENSOR:
        return tensor(Device.HOST, detail=value.detail, origin=origin)
    if value.kind is Kind.UNKNOWN:
        return _batch(origin)
    return _mapped(value, lambda part, d: _on_host(part, origin, d), depth) if depth else value


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
