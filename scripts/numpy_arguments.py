"""What the functions of NumPy are called with, to find out which allocate the memory of their result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

HELD = np.arange(6.0)


class _Own(np.ndarray):
    """A subclass of ndarray."""


class _Like:
    """An object that decides what functions return."""

    def __array_function__(self, *_: object) -> Any:
        return HELD


def _held(*_: object) -> Any:
    return HELD


def numbers(shape: tuple[int, ...], dtype: str = "f8") -> Any:
    """An array of this shape with the numbers from 1 on."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype="f8").reshape(shape).astype(dtype)


def _several(make: Callable[[], Any], count: int) -> list[Any]:
    return [make() for _ in range(count)]


_ARRAYS: tuple[Callable[[], Any], ...] = (
    lambda: numbers((2, 3)),
    lambda: numbers((3,), "f4"),
    lambda: numbers((3,), "i8"),
    lambda: numbers((4,), "u1"),
    lambda: numbers((3,), "?"),
    lambda: numbers((2, 2), "c16"),
    lambda: np.array(2.5),
    lambda: np.array(2),
    lambda: numbers((1,)),
    lambda: numbers((0,)),
    lambda: numbers((0, 3), "f4"),
    lambda: numbers((1, 1)),
    lambda: numbers((2, 2)) + 3 * np.eye(2),
    lambda: np.asfortranarray(numbers((2, 3))),
    lambda: numbers((2, 2, 2))[::-1, :, ::2],
    lambda: numbers((4,)).view(np.ma.MaskedArray),
    lambda: numbers((4,)).view(_Own),
)
# First arguments.
FIRST: tuple[Callable[[], Any], ...] = (
    *_ARRAYS,
    lambda: np.asmatrix(numbers((2, 2))),
    *(partial(_several, make, 2) for make in _ARRAYS),
    *(partial(_several, make, 1) for make in _ARRAYS),
    lambda: [1.5, 2.0],
    lambda: [[1, 2], [3, 4]],
    lambda: 3,
    lambda: (2, 3),
    lambda: _held,
)
# What follows the first argument; `a` is that argument.
NEXT: tuple[Callable[[Any], Any], ...] = (
    lambda a: a,
    lambda _: 0,
    lambda _: 1,
    lambda _: 2,
    lambda _: -1,
    lambda _: [0],
    lambda _: [True],
    lambda _: (2, 3),
    lambda a: getattr(a, "dtype", "f8"),
    lambda _: "f4",
    lambda _: None,
    lambda a: [a, a],
    lambda _: [_held],
)
# Values of optional parameters.
OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "axis": (None, 0, -1, ()),
    "axes": (None, (0,), (), ((), ())),
    "n": (0, 1, None),
    "s": (None, (), (2,)),
    "k": (0, 1),
    "copy": (None, False, True),
    "order": ("K", "C", "F", "A"),
    "kind": ("stable", "quicksort"),
    "dtype": ("f8", "f4", "i8", "u1", "?", None),
    "mmap_mode": ("r", "c"),
    "bins": (2, [0, 1, 2]),
    "side": ("right",),
    "delimiter": (",",),
    "bitorder": ("little",),
    "UPLO": ("U",),
    "encoding": ("latin1",),
    "norm": ("ortho", "backward", None),
    "mode": ("wrap", "edge", "valid", "raise", "clip", "constant"),
    "method": ("linear", "nearest"),
    "casting": ("unsafe", "same_kind"),
    "where": (True,),
    "like": (_Like(), None),
    "weights": (None, [1, 1]),
    "bias": (True,),
    "period": (None, 7),
    "device": ("cpu", None),
    "ndmin": (0, 1, 2),
    "endpoint": (False, True),
    "sep": (" ",),
    "max": (None, 9),
    "a_max": (None, 9),
    "min": (None, 0),
    "size": (2, (2, 2)),
}
NUMBERS = (0, 1, 2, None)  # of parameters that are not listed there
SELF = object()  # stands for the first argument
