"""The range of dtypes, and how torch's factories treat numbers out of range.

Determined by running PyTorch 2.13 and NumPy 2. For example, `torch.full` raises an error where a conversion rounds to
infinity.
"""

from __future__ import annotations

import math
import struct

Number = bool | int | float

# Integer dtypes: the minimum and maximum.
_RANGES = {
    "bool": (0, 1),
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
# Floating-point dtypes: the maximum, and the largest integer up to which all integers are exact.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38, "float64": 1.7e308}
_GAPLESS = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}
_PARTS = {"complex64": "float32", "complex128": "float64"}
_PACKED = {"float16": "e", "float32": "f", "float64": "d"}
FLOATS = frozenset(_LARGEST)
COMPLEX = frozenset(_PARTS)
# The dtypes that `torch.arange` supports, and those that `torch.eye` does not.
COUNTING = frozenset("uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split())
NO_EYE = frozenset("uint16 uint32 uint64".split())
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
# Conversions from lists reject floats for some of these.
_ODD = frozenset("uint16 uint32 uint64".split())


def holds(dtype: str, number: Number) -> bool:
    """Whether a NumPy dtype represents a number exactly, with its sign."""
    dtype = _PARTS.get(dtype, dtype)
    if dtype in _RANGES:
        least, greatest = _RANGES[dtype]
        return least <= number <= greatest and number == int(number) and not is_negative_zero(number)
    if dtype not in _PACKED or abs(number) > _LARGEST[dtype]:
        return False
    kept: float = struct.unpack(_PACKED[dtype], struct.pack(_PACKED[dtype], number))[0]
    return kept == number


def holds_all(dtype: str, least: int, greatest: int) -> bool:
    """Whether the dtype represents every integer of a range exactly."""
    dtype = _PARTS.get(dtype, dtype)
    low, high = _RANGES.get(dtype) or (-_GAPLESS.get(dtype, -1), _GAPLESS.get(dtype, -1))
    return low <= least and greatest <= high


def fills(dtype: str, number: Number) -> bool:
    """Whether ``torch.full`` gives the same as a conversion to the dtype, without truncating a fraction."""
    dtype = _PARTS.get(dtype, dtype)
    whole = not isinstance(number, float)
    if whole and not -(2**63) <= number < 2**63:
        return False
    if dtype == "bool":
        return True
    if dtype in _RANGES:
        least, greatest = _RANGES[dtype]
        return least <= number <= greatest and number == int(number) and (whole or dtype not in _ODD)
    return dtype in _LARGEST and abs(number) <= _LARGEST[dtype]


def is_negative_zero(number: Number) -> bool:
    """``-0.0``."""
    return isinstance(number, float) and number == 0 and math.copysign(1, number) < 0
