"""Checks that JSON data has the structure of a type. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

# : More than any file has lines or any line has columns.
MOST = 2**31
_LARGEST = 1e100
Check = Callable[[Any], bool]


def fits(value: object, kind: Any, *, more: bool = False) -> bool:
    """Whether a value from JSON fits a type made of ``TypedDict``, ``dict``, ``list``, ``tuple`` and plain types.

    Tuples are arrays in JSON, and keys are strings. An ``int`` is a count and not negative; an ``Annotated`` type lists
    the allowed values. A ``float`` is any finite number. With ``more``, records may have additional keys.
    """
    return _check(kind, more)(value)


@lru_cache(maxsize=1024)
def _check(kind: Any, more: bool) -> Check:
    """The check for a type; a type is looked into once, and not for each value."""
    if is_typeddict(kind):
        return lambda value: isinstance(value, dict) and _fits_record(value, kind, more)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict:
        item = _check(inner[1], more)
        return lambda value: isinstance(value, dict) and all(map(item, value.values()))
    if origin is list or inner[1:] == (...,):
        item = _check(inner[0], more)
        return lambda value: isinstance(value, list) and all(map(item, value))
    if origin is tuple:
        return _tuple([_check(each, more) for each in inner])
    if origin in (Union, UnionType):
        checks = [_check(each, more) for each in inner]
        return lambda value: any(check(value) for check in checks)
    if origin is Annotated:
        return lambda value: type(value) is inner[0] and value in inner[1]
    if origin is Literal:
        return lambda value: any(type(value) is type(each) and value == each for each in inner)
    return _plain(kind)


def _tuple(checks: list[Check]) -> Check:
    def check(value: Any) -> bool:
        if not isinstance(value, list) or len(value) != len(checks):
            return False
        return all(own(each) for each, own in zip(value, checks, strict=True))

    return check


def _plain(kind: Any) -> Check:
    if kind is Any:
        return lambda _: True
    if kind is int:
        return lambda value: type(value) is int and 0 <= value < MOST
    if kind is float:
        return lambda value: type(value) in (int, float) and -_LARGEST < value < _LARGEST
    return lambda value: type(value) is kind


def _fits_record(value: dict[str, Any], kind: Any, more: bool) -> bool:
    fields = _fields(kind, more)
    if not value.keys() >= kind.__required_keys__:
        return False
    known = ((fields.get(key), each) for key, each in value.items())
    return all(more if own is None else own(each) for own, each in known)


@lru_cache(maxsize=128)
def _fields(kind: Any, more: bool) -> dict[str, Check]:
    return {key: _check(hint, more) for key, hint in get_type_hints(kind, include_extras=True).items()}
