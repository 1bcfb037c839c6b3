"""Checks that JSON data has the structure of a type. Standard library only."""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

# : More than any file has lines or any line has columns.
MOST = 2**31
_LARGEST = 1e100


def fits(value: object, kind: Any, *, more: bool = False) -> bool:
    """Whether a value from JSON fits a type made of ``TypedDict``, ``dict``, ``list``, ``tuple`` and plain types.

    Tuples are arrays in JSON, and keys are strings. An ``int`` is a count and not negative; an ``Annotated`` type lists
    the allowed values. A ``float`` is any finite number. With ``more``, records may have additional keys.
    """
    if is_typeddict(kind):
        return isinstance(value, dict) and _fits_record(value, kind, more=more)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict:
        return isinstance(value, dict) and all(fits(each, inner[1], more=more) for each in value.values())
    if origin is list:
        return isinstance(value, list) and all(fits(each, inner[0], more=more) for each in value)
    if origin is tuple:
        return isinstance(value, list) and _fits_tuple(value, inner, more=more)
    if origin in (Union, UnionType):
        return any(fits(value, each, more=more) for each in inner)
    if origin is Annotated:
        return type(value) is inner[0] and value in inner[1]
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    return _fits_plain(value, kind)


def _fits_tuple(value: list[Any], inner: tuple[Any, ...], *, more: bool) -> bool:
    if inner[1:] == (...,):
        return all(fits(each, inner[0], more=more) for each in value)
    return len(value) == len(inner) and all(fits(each, own, more=more) for each, own in zip(value, inner, strict=True))


def _fits_plain(value: object, kind: Any) -> bool:
    if kind is Any:
        return True
    if kind is int:
        return type(value) is int and 0 <= value < MOST
    if kind is float:
        return type(value) in (int, float) and -_LARGEST < value < _LARGEST  # type: ignore[operator]
    return type(value) is kind


def _fits_record(value: dict[str, Any], kind: Any, *, more: bool) -> bool:
    hints = _hints(kind)
    if not value.keys() >= kind.__required_keys__:
        return False
    known = ((hints.get(key), each) for key, each in value.items())
    return all(more if own is None else fits(each, own, more=more) for own, each in known)


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
