"""How much work something is, told by calls of functions, which are as many on every machine."""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Sequence


def calls(work: Callable[[], object], *, builtins: bool = False) -> int:
    """How many functions of Python the work calls, and of C where those are asked for."""
    profile = cProfile.Profile(builtins=builtins)
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def is_even(counts: Sequence[int]) -> bool:
    """Whether work on three inputs, each twice as long as the one before, grows as the inputs do, or less."""
    few, some, many = counts
    return many - some < 2.5 * (some - few) + 0.1 * some
