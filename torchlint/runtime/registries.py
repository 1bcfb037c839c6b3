"""Torch's registries of its own functions, which recognize a function by its identity.

Torch fills them when they are used for the first time, and must not find replaced functions and properties then: they
would stay registered, and the original ones would never be. Dynamo, which the first optimizer imports, even fails.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, MutableMapping, MutableSet
from typing import Any

from torch import overrides
from torch.jit._builtins import _find_builtin, _get_builtin_table
from torch.utils._device import _device_constructors


@functools.cache
def fill() -> None:
    """Let torch register what it has, once in a process and before anything is replaced."""
    _device_constructors()
    list(_overridable())
    with contextlib.suppress(Exception):  # the program may do without Dynamo where it cannot be imported
        from torch._dynamo.trace_rules import get_torch_obj_rule_map
        from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

        get_torch_obj_rule_map()
        TorchInGraphFunctionVariable._get_handlers()


def entries(real: Any, value: Any) -> Iterator[tuple[MutableMapping[Any, Any], Any, Any]]:
    """The mappings in which a replaced function or property is registered, with key and value for its replacement."""
    operation = _find_builtin(real) if callable(real) and callable(value) else None
    if operation is not None:
        yield _get_builtin_table(), id(value), operation
    index = overrides._get_overridable_functions()[1]
    for one, other in _called(real, value):
        if one in index:
            yield index, other, index[one]


def members(real: Any, value: Any) -> Iterator[tuple[MutableSet[Any], Any]]:
    """The sets in which a replaced function or property is registered, with the element for its replacement."""
    for registry in _overridable():
        for one, other in _called(real, value):
            if one in registry:
                yield registry, other


def _overridable() -> Iterator[MutableSet[Any]]:
    """What subclasses of tensors may override, and what returns a tensor that is not made one of a subclass."""
    yield overrides.get_default_nowrap_functions()
    yield overrides._get_tensor_methods()


def _called(real: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The functions that torch passes to ``__torch_function__``: of a property those that get and set it."""
    if isinstance(value, property):
        for name in ("__get__", "__set__"):
            if hasattr(real, name):
                yield getattr(real, name), getattr(value, name)
    elif callable(real) and callable(value) and getattr(real, "__hash__", None) is not None:
        yield real, value
