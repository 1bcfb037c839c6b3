"""Whether this CPU computes in float16 at a usable speed: many do not, and nothing else says why a program hangs."""

from __future__ import annotations

from functools import cache
from time import perf_counter_ns

import torch
from torch.utils._python_dispatch import _disable_current_modes

_SIZE = 256
_SLOW = 8


@cache
def slowness() -> float:
    """How many times longer a product and its gradient take in float16 than in float32."""
    return _time(torch.float16) / _time(torch.float32)


def notice() -> str | None:
    """What to say before a program computes in float16; None if that is fast enough."""
    if slowness() < _SLOW:
        return None
    return (
        f"float16 takes about {slowness():.0f} times as long as float32 on this CPU, and the program uses it under "
        "autocast: it will be slow; bfloat16 would be faster, and --steps limits the run"
    )


def _time(dtype: torch.dtype) -> int:
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.enable_grad():
        left = torch.ones(_SIZE, _SIZE, dtype=dtype, requires_grad=True)
        spent = []
        for _ in range(3):
            start = perf_counter_ns()
            torch.autograd.grad(torch.nn.functional.linear(left, left).sum(), left)
            spent.append(perf_counter_ns() - start)
    return max(min(spent), 1)
