"""Which tensors of a trace of the CPU would be on the host as well if the program ran on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torchlint.trace.frames import Frame

_LOADING = "torch/utils/data/"
# Optimizers count their steps in tensors, which stay on the host unless they are made with `capturable=True`, and read
# them with this function. ASGD alone reads with it what it keeps beside the parameters.
_STATE, _STATE_READ = "torch/optim/optimizer.py", "_get_value"
_STATE_ON_DEVICE = "torch/optim/asgd.py"


def is_on_host(stack: Sequence[Frame]) -> bool:
    """Whether what is read while these functions run, the outermost first, is a tensor that never is on a device."""
    for outer, inner in pairwise(stack):
        if _is_in(inner, _LOADING):
            return True  # samples, and the seeds of samplers
        if inner.function == _STATE_READ and _is_in(inner, _STATE):
            return not _is_in(outer, _STATE_ON_DEVICE)
    return False


def _is_in(frame: Frame, path: str) -> bool:
    return f"/{path}" in f"/{frame.path.replace(chr(92), '/')}"
