"""Imports LibCST in half the time: constructors of its nodes are written when they are first called.

LibCST's nodes are some three hundred dataclasses. Python writes and compiles up to five methods for each of them while
the class is made, which is more than half of ``import libcst``, and a run constructs a few dozen kinds of nodes.
Nothing of LibCST is changed but the time at which this happens.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_NODES = "libcst._nodes."
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
    """Node classes that become dataclasses meanwhile get their constructors later; they are added to a list."""

    def decorator(kind: type[Any] | None = None, /, **options: Any) -> Any:
        if kind is None:
            return lambda kind: decorator(kind, **options)
        if options != {"frozen": True} or not kind.__module__.startswith(_NODES):
            return _dataclass(kind, **options)
        made.append(kind)
        return _unfinished(kind)

    dataclasses.dataclass = decorator
    try:
        yield
    finally:
        dataclasses.dataclass = _dataclass


def _unfinished(kind: type[Any]) -> type[Any]:
    """A dataclass without a constructor of its own; LibCST's classes have their own ``__eq__`` and ``__repr__``."""
    kind.__doc__ = kind.__doc__ or kind.__name__  # or Python describes the constructor here
    _dataclass(init=False, repr=False, eq=False)(kind)

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        owner: Any = next(around for around in type(self).__mro__ if around.__dict__.get("__init__") is construct)
        owner.__init__ = _constructor(owner)
        owner.__init__(self, *args, **kwargs)

    changed: Any = kind
    changed.__init__ = construct
    changed.__setattr__ = _refuse_assignment
    changed.__delattr__ = _refuse_deletion
    return kind


def _constructor(kind: type[Any]) -> Callable[..., None]:
    """The constructor that a frozen dataclass with these fields has, apart from annotations."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": _MISSING}
    parameters = ["self"]
    body = ""
    for field in dataclasses.fields(kind):
        name = value = field.name
        if field.default_factory is not _MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}"
            parameters.append(f"{name}=_MISSING")
        elif field.default is not _MISSING:
            names[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body += f" _set(self, {name!r}, {value})\n"
    exec(f"def __init__({', '.join(parameters)}):\n{body} self.__post_init__()\n", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    return made


def _refuse_assignment(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
