"""The kernels of ``SyncBatchNorm``, which torch implements only for CUDA, written with CPU operations.

Shapes: ``x`` is N x C x ..., statistics are C, those of all ranks R x C. The formulas are those of torch's
documentation of batch normalization, with counts for ranks of different sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine


def install(simulation: Machine) -> None:
    """Install the functions."""
    simulation.patches.set_all(
        torch,
        batch_norm_stats=_stats,
        batch_norm_gather_stats_with_counts=_gather,
        batch_norm_elemt=_elements,
        batch_norm_backward_reduce=_backward_sums,
        batch_norm_backward_elemt=_backward_elements,
    )


def _others(x: Any) -> list[int]:
    """All dimensions except that of channels."""
    return [dimension for dimension in range(x.dim()) if dimension != 1]


def _along(x: Any, values: Any) -> Any:
    """One value per channel, broadcastable to ``x``."""
    return values.view(1, -1, *[1] * (x.dim() - 2))


def _stats(x: Any, eps: float) -> Any:
    return x.mean(_others(x)), (x.var(_others(x), unbiased=False) + eps).rsqrt()


def _gather(
    _x: Any, means: Any, invstds: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, counts: Any
) -> Any:
    whole, each = counts.sum(), counts.view(-1, 1)
    mean = (means * each).sum(0) / whole
    variance = ((invstds.pow(-2) - eps + (means - mean) ** 2) * each).sum(0) / whole
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean * momentum)
        running_var.mul_(1 - momentum).add_(variance * (whole / (whole - 1)) * momentum)
    return mean, (variance + eps).rsqrt()


def _elements(x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, _eps: float) -> Any:
    out = (x - _along(x, mean)) * _along(x, invstd)
    if weight is not None:
        out = out * _along(x, weight)
    return out if bias is None else out + _along(x, bias)


def _backward_sums(gradient: Any, x: Any, mean: Any, invstd: Any, _weight: Any, *_: bool) -> Any:
    whole = gradient.sum(_others(gradient))
    scaled = (gradient * (x - _along(x, mean))).sum(_others(gradient))
    return whole, scaled, scaled * invstd, whole


def _backward_elements(
    gradient: Any, x: Any, mean: Any, invstd: Any, weight: Any, whole: Any, scaled: Any, counts: Any
) -> Any:
    count = counts.sum()
    centered = (x - _along(x, mean)) * _along(x, invstd**2 * scaled / count)
    return (gradient - _along(x, whole / count) - centered) * _along(x, invstd if weight is None else invstd * weight)
