"""Calls of functions of NumPy, and whether their results share memory with their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scripts.numpy_arguments import FIRST, HELD, NEXT, NUMBERS, OPTIONS, SELF, numbers
from scripts.numpy_signatures import Parameter

_KEPT = 10  # successful calls that are repeated with each optional parameter


class Memory(NamedTuple):
    """A function whose result is new memory. ``other`` are the parameters that may give it other memory."""

    name: str
    other: tuple[Parameter, ...]


def _arrays_in(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays_in(part)
    elif isinstance(value, dict):
        yield from _arrays_in(list(value.values()))


def result_of(call: Callable[[], Any]) -> Any:
    """The result of a call; None if it fails."""
    try:
        return call()
    except Exception:
        return None


def _shares(result: Any, given: Any) -> bool:
    """Whether a result shares memory with what was given, or is no memory of its own."""
    every = [*_arrays_in(given), HELD]
    made = list(_arrays_in(result))
    return any(isinstance(one, np.memmap) or any(np.may_share_memory(one, other) for other in every) for one in made)


def _is_next(one: Parameter, other: Parameter) -> bool:
    """Whether two parameters stand beside each other."""
    if one.position is None or other.position is None or one.name == "out":
        return False
    return abs(one.position - other.position) == 1


def _arguments(first: Callable[[], Any], rest: Iterable[Callable[[Any], Any]]) -> tuple[Any, ...]:
    made = first()
    return (made, *(part(made) for part in rest))


class Trial:
    """The calls of one function."""

    def __init__(
        self, name: str, function: Any, known: list[Parameter], fixed: Mapping[str, Any], files: Path | None
    ) -> None:
        self.name = name
        self.function = function
        self.required = [p for p in known if not p.optional and p.name != "out"]
        self.optional = [p for p in known if p.optional]
        self.fixed = fixed
        self.files = files

    def memory(self) -> Memory | None:
        """What is known about the function; None if a result shares memory, or no call returns an array."""
        succeeded, made = [], False
        for arguments in self._every():
            given = arguments()
            result = self._called(given, self.fixed)
            if result is None:
                continue
            made = made or any(True for _ in _arrays_in(result))
            again = self._called(given, self.fixed)
            if _shares(result, [given, again]):
                return None
            succeeded.append(arguments)
        step = max(1, len(succeeded) // _KEPT)
        tried = {p: self._tried(p, succeeded[::step]) for p in self.optional if p.name not in self.fixed}
        made = made or False in tried.values()
        return Memory(self.name, tuple(p for p, shared in tried.items() if shared is not False)) if made else None

    def _every(self) -> Iterator[Callable[[], tuple[Any, ...]]]:
        if self.files is not None:
            yield lambda: (str(self.files), *(["f8"] if len(self.required) > 1 else []))
            return
        count = len(self.required)
        for first in FIRST if count else ():
            for rest in itertools.product(NEXT, repeat=count - 1) if count <= 3 else ():
                yield partial(_arguments, first, rest)
        if not count:
            yield tuple

    def _tried(self, parameter: Parameter, calls: list[Callable[[], tuple[Any, ...]]]) -> bool | None:
        """Whether a result shared memory when the parameter was passed; None if no call returned an array."""
        if parameter.name == "out":
            return True
        beside = [p for p in self.optional if p is not parameter and (p.name == "axis" or _is_next(p, parameter))]
        found = self._shared(parameter, calls, {})
        for other in beside if found is None else ():
            for value in (0, SELF):
                found = self._shared(parameter, calls, {other.name: value})
                if found is not None:
                    return found
        return found

    def _shared(
        self, parameter: Parameter, calls: list[Callable[[], tuple[Any, ...]]], beside: Mapping[str, Any]
    ) -> bool | None:
        found = None
        for arguments, value in itertools.product(calls, self._values(parameter)):
            given = arguments()
            values = {**self.fixed, **beside, parameter.name: value}
            array = given[0] if given else numbers((3,))
            values = {name: array if one is SELF else one for name, one in values.items()}
            result = self._called(given, values)
            if any(True for _ in _arrays_in(result)):
                found = False
                if _shares(result, [given, array]):
                    return True
        return found

    def _called(self, given: tuple[Any, ...], values: Mapping[str, Any]) -> Any:
        """The result of a call with optional parameters, as keywords or else by position."""
        result = result_of(partial(self.function, *given, **values))
        places = sorted((p.position, p.name) for p in self.optional if p.position is not None and p.name in values)
        if result is not None or [place for place, _ in places] != list(range(len(given), len(given) + len(values))):
            return result
        return result_of(partial(self.function, *given, *(values[name] for _, name in places)))

    def _values(self, parameter: Parameter) -> list[Any]:
        """Values to try that are not the default; one is the first argument itself."""
        flags = parameter.default in ("True", "False")
        values = (True, False, *((None,) if parameter.name == "copy" else ())) if flags else OPTIONS.get(parameter.name)
        return [one for one in (*(values or NUMBERS), SELF) if repr(one) != parameter.default]
