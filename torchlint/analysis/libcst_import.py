"""Imports LibCST in half the time: constructors of its classes are written when they are first called.

LibCST has some two hundred dataclasses. Python writes and compiles up to six methods for each of them while the class
is made, which is more than half of ``import libcst``, and a run constructs a few dozen kinds of nodes. Here
constructors come later, and the other methods are the same functions for all classes; what they do is what Python's do.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from reprlib import recursive_repr
from typing import Any, NoReturn

_OWN = "libcst."
_MISSING = dataclasses.MISSING
_dataclass = dataclasses.dataclass


def load() -> None:
    """Import LibCST, unless somebody has."""
    if "libcst" in sys.modules:
        return
    made: list[type[Any]] = []
    try:
        with _later(made):
            import libcst  # noqa: F401
    except Exception:  # a LibCST that makes its classes in another way: it is imported as ever
        for name in [name for name in sys.modules if name.partition(".")[0] == "libcst"]:
            del sys.modules[name]
        return
    for kind in made:
        kind.__dataclass_params__.frozen = True  # for classes that others derive from them


@contextmanager
def _later(made: list[type[Any]]) -> Iterator[None]:
    """Classes that become dataclasses meanwhile get their constructors later; frozen ones are added to a list."""

    def decorator(kind: type[Any] | None = None, /, **options: Any) -> Any:
        if kind is None:
            return lambda kind: decorator(kind, **options)
        if not options.keys() <= {"frozen"} or not kind.__module__.startswith(_OWN):
            return _dataclass(kind, **options)
        frozen = options.get("frozen", False)
        if frozen:
            made.append(kind)
        return _unfinished(kind, frozen=frozen)

    dataclasses.dataclass = decorator
    try:
        yield
    finally:
        dataclasses.dataclass = _dataclass


def _unfinished(kind: type[Any], *, frozen: bool) -> type[Any]:
    """A dataclass whose constructor is written when it is first called."""
    kind.__doc__ = kind.__doc__ or kind.__name__  # or Python describes the constructor here
    _dataclass(init=False, repr=False, eq=False)(kind)

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        owner: Any = next(around for around in type(self).__mro__ if around.__dict__.get("__init__") is construct)
        owner.__init__ = _constructor(owner)
        owner.__init__(self, *args, **kwargs)

    own: dict[str, Any] = {"__init__": construct, "__repr__": _shown, "__eq__": _equal}
    if "__hash__" not in kind.__dict__:
        own["__hash__"] = _hash if frozen else None
    for name, method in own.items():
        if name not in kind.__dict__:
            setattr(kind, name, method)
    if frozen:
        for name, method in (("__setattr__", _refuse_assignment), ("__delattr__", _refuse_deletion)):
            setattr(kind, name, method)
    return kind


def _constructor(kind: type[Any]) -> Callable[..., None]:
    """The constructor that a dataclass with these fields has, apart from annotations."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": _MISSING}
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
        if field.init or field.default_factory is not _MISSING:
            body += f" _set(self, {name!r}, {value})\n"
    if hasattr(kind, "__post_init__"):
        body += " self.__post_init__()\n"
    exec(f"def __init__({', '.join(parameters)}):\n{body or ' pass'}\n", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    return made


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


def _refuse_assignment(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
