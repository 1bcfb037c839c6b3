"""Layers of torch.nn and their parameters, read from torch 2.13 (``torch/nn/modules/conv.py``, ``batchnorm.py``)."""

from __future__ import annotations

from typing import NamedTuple

SEQUENTIAL = "torch.nn.Sequential"
# Modules that return what they are given, or what another module returns, which need not be a tensor.
PASSING_MODULES = frozenset(
    {SEQUENTIAL, "torch.nn.Identity", "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"}
)


class Convolution(NamedTuple):
    """The number of spatial dimensions of a convolution, and its parameters in order."""

    dimensions: int
    parameters: tuple[str, ...]


_PLAIN = "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode device dtype"
_TRANSPOSED = (
    "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode device dtype"
)
CONVOLUTIONS = {
    f"torch.nn.{prefix}{n}d": Convolution(n, tuple(parameters.split()))
    for n in (1, 2, 3)
    for prefix, parameters in (("Conv", _PLAIN), ("ConvTranspose", _TRANSPOSED))
}
# The dimensions of the convolutions whose outputs they normalize.
BATCH_NORMS = {f"torch.nn.BatchNorm{n}d": frozenset((n,)) for n in (1, 2, 3)} | {
    "torch.nn.SyncBatchNorm": frozenset((1, 2, 3))
}
