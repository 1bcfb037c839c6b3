"""Imports LibCST in half the time by generating the constructors of its node classes lazily.

LibCST has some two hundred dataclasses. For each of them Python generates and compiles up to six methods when the class
is created, which is more than half of the time of ``import libcst``, but a run constructs only a few dozen kinds of
nodes. Here constructors are generated on first use, and all classes share the other methods, which behave like those
that Python generates.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from reprlib import recursive_repr
from typing import Any

_OWN = "libcst."
_MISSING = dataclasses.MISSING
_dataclass = dataclasses.dataclass


def load() -> None:
    """Import LibCST, unless it is already imported."""
    if "libcst" in sys.modules:
        return
    try:
        with _later():
            import libcst  # noqa: F401
    except Exception:  # this version of LibCST creates its classes differently: import it normally
        for name in [name for name in sys.modules if name.partition(".")[0] == "libcst"]:
            del sys.modules[name]


@contextmanager
def _later() -> Iterator[None]:
    """While this context is active, dataclasses of LibCST get lazy constructors."""

    def decorator(kind: type[Any] | None = None, /, **options: Any) -> Any:
        if kind is None:
            return lambda kind: decorator(kind, **options)
        if not options.keys() <= {"frozen"} or not kind.__module__.startswith(_OWN):
            return _dataclass(kind, **options)
        return _unfinished(kind, frozen=options.get("frozen", False))

    dataclasses.dataclass = decorator
    try:
        yield
    finally:
        dataclasses.dataclass = _dataclass


def _unfinished(kind: type[Any], *, frozen: bool) -> type[Any]:
    """A dataclass whose constructor is generated on first use."""
    kind.__doc__ = kind.__doc__ or kind.__name__  # otherwise Python computes a signature for the docstring
    with _thawed(kind):
        _dataclass(init=False, repr=False, eq=False)(kind)
    _check(kind)
    params = kind.__dataclass_params__
    params.init = params.repr = params.eq = True
    params.frozen = frozen
    own: dict[str, Any] = {"__init__": _Constructor(kind), "__repr__": _shown, "__eq__": _equal}
    if "__hash__" not in kind.__dict__:
        own["__hash__"] = _hash if frozen else None
    if frozen:
        own |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
    for name, method in own.items():
        if name not in kind.__dict__:
            setattr(kind, name, method)
    return kind


@contextmanager
def _thawed(kind: type[Any]) -> Iterator[None]:
    """Mark the bases of a class as not frozen: a dataclass that is not frozen cannot derive from one that is."""
    every = [base.__dict__.get("__dataclass_params__") for base in kind.__mro__[1:]]
    frozen = [params for params in every if params is not None and params.frozen]
    for params in frozen:
        params.frozen = False
    try:
        yield
    finally:
        for params in frozen:
            params.frozen = True


def _check(kind: type[Any]) -> None:
    """Raise ``TypeError`` for features that the constructors generated here do not support."""
    optional = False
    for field in dataclasses.fields(kind):
        required = field.default is _MISSING and field.default_factory is _MISSING
        if field.kw_only or field.hash is not None or (field.init and required and optional):
            raise TypeError(f"{kind.__name__}.{field.name}")
        optional = optional or (field.init and not required)
    for promised in inspect.get_annotations(kind).values():
        if isinstance(promised, dataclasses.InitVar) or (isinstance(promised, str) and "InitVar" in promised):
            raise TypeError(f"{kind.__name__}: {promised}")


class _Constructor:
    """A descriptor in place of ``__init__`` that generates it on first access."""

    def __init__(self, kind: type[Any]) -> None:
        self._owner: Any = kind

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner = owner  # a class with slots is created a second time

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        made = _constructor(self._owner)
        if self._owner.__dict__.get("__init__") is self:
            self._owner.__init__ = made
        return made.__get__(instance, owner)


def _constructor(kind: type[Any]) -> Callable[..., None]:
    """The constructor of a dataclass with these fields."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": _MISSING}
    annotations: dict[str, Any] = {}
    parameters = ["self"]
    body = ""
    for field in dataclasses.fields(kind):
        name = value = field.name
        if field.default_factory is not _MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}" if field.init else f"_make_{name}()"
            default = "=_MISSING"
        elif field.default is not _MISSING:
            names[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
        else:
            default = ""
        if field.init:
            parameters.append(f"{name}{default}")
            annotations[name] = field.type
        if field.init or field.default_factory is not _MISSING:
            body += f" _set(self, {name!r}, {value})\n"
    if hasattr(kind, "__post_init__"):
        body += " self.__post_init__()\n"
    exec(f"def __init__({', '.join(parameters)}):\n{body or ' pass'}\n", names)
    made: Any = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__module__ = kind.__module__
    made.__annotations__ = {**annotations, "return": None}
    return made  # type: ignore[no-any-return]


@recursive_repr()
def _shown(self: Any) -> str:
    parts = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _compared(value: Any) -> tuple[object, ...]:
    return tuple(getattr(value, field.name) for field in dataclasses.fields(value) if field.compare)


def _equal(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    if name in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: Any, name: str) -> None:
    if name in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)
