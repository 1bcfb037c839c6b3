"""Methods of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments, device_of
from torchlint.engine.containers import ANY_FIELD
from torchlint.engine.union import join, join_all
from torchlint.engine.values import NONE, TEXT, UNKNOWN, Device, Kind, Value, collection, sequence, tensor
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_PARTS = 8  # of a module that are looked at


class Modules:
    """Follows methods of modules, of the project and of libraries."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def method(self, given: Arguments) -> Value:
        """``module.name(..)``"""
        owner = given.receiver
        parameter = tensor(Device.ACCELERATOR)
        if given.name in known.SELF_RETURNING:
            return owner
        if given.name in ("parameters", "buffers"):
            return collection(parameter)
        if given.name in ("named_parameters", "named_buffers"):
            return collection(sequence([TEXT, parameter]))
        if given.name in ("modules", "children", "named_modules", "named_children"):
            return self._parts(given.name, owner)
        if given.name == "state_dict":
            return Value(Kind.DICT, element=parameter)
        if given.name in _REGISTERING and owner.kind is Kind.INSTANCE and len(given.values) > 1:
            return self._register(owner, given.values[0], given.values[1], given.name)
        if given.name == "manual_backward":
            self._state.queue("backward", given.node)
            return NONE
        if given.name == "optimizers":
            return Value(Kind.OPTIMIZER)
        return self._of_library_module(given) if owner.kind is not Kind.INSTANCE else UNKNOWN

    def _of_library_module(self, given: Arguments) -> Value:
        owner = given.receiver
        if given.name == "forward":
            return self._engine.call(owner, given.values, given.named, given.node, given.scope)
        if owner.kind is Kind.MODULES:
            if given.name in ("append", "extend", "insert") and given.values:
                owner.items.extend(given.values[-1].members if given.name != "extend" else given.values[-1].items)
                return NONE
            if given.name in ("values", "items"):
                element = join_all(owner.items)
                return collection(sequence([TEXT, element]) if given.name == "items" else element)
            return UNKNOWN
        computes = given.name in _MODEL_METHODS or device_of(given.all) is Device.ACCELERATOR
        if computes:
            self._state.queue("model", given.node)
        if given.name == "generate":
            self._state.mark("decode")
        return tensor(Device.ACCELERATOR, sure=False) if computes else UNKNOWN

    def _parts(self, name: str, owner: Value) -> Value:
        inner = owner.items if owner.kind is Kind.MODULES else []
        if owner.kind is Kind.INSTANCE:
            inner = [value for value in owner.target.fields.values() if value.kind in _MODULES][:_PARTS]
        element = join_all(inner) if inner else Value(Kind.LIBRARY_MODULE, "torch.nn.Module")
        return collection(sequence([TEXT, element]) if name.startswith("named") else element)

    def _register(self, owner: Value, field: Value, value: Value, name: str) -> Value:
        known_ = field.kind is Kind.CONSTANT and isinstance(field.detail, str)
        if not name.endswith("module"):
            value = value if value.kind is Kind.CONSTANT else tensor(Device.ACCELERATOR)
        held = owner.target.fields.get(ANY_FIELD)
        self._state.set_field(owner.target, *((field.detail, value) if known_ else (ANY_FIELD, join(value, held))))
        return NONE


_MODEL_METHODS = frozenset("encode generate get_text_features get_image_features".split())
_REGISTERING = frozenset("register_buffer register_parameter add_module register_module".split())
_MODULES = frozenset({Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.MODULES})
