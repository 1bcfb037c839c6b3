"""Optimizers with a fused implementation, by the versions of torch.

Sources: ``torch/optim/adam.py``, ``adamw.py`` and ``torch/utils/_foreach_utils.py`` in torch 2.13, and the reference
manual of 1.13 to 2.4. SGD (since 2.3) and Adagrad (since 2.4) have ``fused=`` as well, and are left out: on GPUs their
fused implementation was slower in some measurements (pytorch/pytorch#129350, pytorch/pytorch#153038).
"""

from __future__ import annotations

from typing import NamedTuple


class Fused(NamedTuple):
    """The versions of torch since which ``fused=True`` works with parameters on a CUDA device, and on the CPU."""

    cuda: str
    cpu: str


FUSED = {"torch.optim.Adam": Fused("1.13", "2.4"), "torch.optim.AdamW": Fused("2.0", "2.4")}
# Arguments that choose an implementation, or that exclude the fused one.
IMPLEMENTATION_ARGUMENTS = ("fused", "foreach", "capturable", "differentiable")
