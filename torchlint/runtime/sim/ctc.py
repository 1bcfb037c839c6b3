"""What ``ctc_loss`` copies. Sources: ATen's ``LossCTC.cpp`` and ``cuda/LossCTC.cu``.

Its kernel takes the lengths as lists of numbers and copies them to the device again. What cuDNN does in its own
implementation is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of
from torchlint.runtime.sim.copying import download, record_upload, upload

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

BACKWARD = "aten::_ctc_loss_backward"
_MEAN = 1
# Since torch 2.11 the targets are copied to the host, for the library of other devices than CUDA's.
READS_TARGETS = bool(torch._C._jit_get_schemas_for_operator("aten::_use_miopen_ctc_loss"))


def record(simulation: Machine, args: Any, kwargs: Any) -> None:
    """Record what a call of ``torch.ctc_loss`` does beside computing."""
    call = _call(*args, **kwargs)
    lengths = [value for value in (call["input_lengths"], call["target_lengths"]) if isinstance(value, torch.Tensor)]
    if not simulation.recorder.listening or _by_cudnn(call):
        return
    simulation.watchful = simulation.watchful or (torch.is_grad_enabled() and call["log_probs"].requires_grad)
    targets = call["targets"]
    if READS_TARGETS and device_of(targets) is not None:
        for _ in range(2 if lengths else 1):  # lengths in tensors are read, and then it begins again
            download(simulation, targets, "ctc_loss")
    for tensor in lengths:
        if device_of(tensor) is not None:
            download(simulation, tensor, "ctc_loss")
    if device_of(targets) is None:
        upload(simulation, targets, "ctc_loss", torch.long)
    batch = _batch(call["log_probs"])
    _lengths(simulation, batch, "ctc_loss")
    if call["reduction"] == _MEAN:  # it divides by the lengths
        _numbers(simulation, batch * call["log_probs"].dtype.itemsize, "ctc_loss")


def derive(simulation: Machine, args: Any) -> None:
    """Record what its derivative copies."""
    _lengths(simulation, _batch(args[1]), "derivative")


def _call(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = _MEAN,
    zero_infinity: bool = False,
) -> dict[str, Any]:
    """The arguments that matter, by name."""
    return {
        "log_probs": log_probs,
        "targets": targets,
        "input_lengths": input_lengths,
        "target_lengths": target_lengths,
        "blank": blank,
        "reduction": reduction,
    }


def _batch(log_probs: torch.Tensor) -> int:
    return int(log_probs.shape[1]) if log_probs.dim() > 2 else 1


def _lengths(simulation: Machine, batch: int, how: str) -> None:
    """Both lengths, and where the targets of each sequence begin."""
    for _ in range(3):
        _numbers(simulation, 8 * batch, how)


def _numbers(simulation: Machine, size: int, how: str) -> None:
    record_upload(simulation, size, {"how": how, "pinned": False, "non_blocking": False})


def _by_cudnn(call: dict[str, Any]) -> bool:
    """Whether cuDNN computes it (``_use_cudnn_ctc_loss``), apart from lengths that it does not take."""
    log_probs, targets = call["log_probs"], call["targets"]
    lengths = (call["input_lengths"], call["target_lengths"])
    tensors = all(isinstance(value, torch.Tensor) and value.dtype is torch.int32 for value in lengths)
    return (
        torch.backends.cudnn.enabled
        and call["blank"] == 0
        and targets.dim() == 1
        and targets.dtype is torch.int32
        and targets.is_contiguous()
        and log_probs.dtype is torch.float32
        and log_probs.dim() == 3
        and (tensors or device_of(targets) is None)
    )
