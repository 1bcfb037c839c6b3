"""The sizes of dtypes, and which of them are complex."""

from __future__ import annotations

import math

COMPLEX = frozenset({"complex64", "complex128"})
# Bytes of an element.
SIZES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


def is_negative_zero(number: bool | int | float) -> bool:
    """``-0.0``."""
    return isinstance(number, float) and number == 0 and math.copysign(1, number) < 0
