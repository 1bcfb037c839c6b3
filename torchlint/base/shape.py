"""Whether plain JSON has the shape that a type says. Standard library only."""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

#: No file has so many lines, nor a line so many columns.
MOST = 2**31


def fits(value: object, kind: Any) -> bool:
    """Whether a value from JSON is of a type made of ``TypedDict``, ``dict``, ``list``, ``tuple`` and plain ones.

    Tuples are arrays in JSON, and keys are strings. Numbers are integers that count something.
    """
    if is_typeddict(kind):
        return isinstance(value, dict) and _fits_record(value, kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict:
        return isinstance(value, dict) and all(fits(each, inner[1]) for each in value.values())
    if origin is list:
        return isinstance(value, list) and all(fits(each, inner[0]) for each in value)
    if origin is tuple:
        if not isinstance(value, list):
            return False
        if inner[1:] == (...,):
            return all(fits(each, inner[0]) for each in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if type(value) is int and kind is int:
        return 0 <= value < MOST
    return type(value) is kind


def _fits_record(value: dict[str, Any], kind: Any) -> bool:
    hints = _hints(kind)
    if kind.__total__ and value.keys() != hints.keys():
        return False
    return all(key in hints and fits(each, hints[key]) for key, each in value.items())


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
