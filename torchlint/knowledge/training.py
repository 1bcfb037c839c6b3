"""Modes for debugging, gradients and optimizers of torch, with the versions in which they changed.

What torch 2.13 does was read in its sources. The versions in which this began follow from the pull requests, which are
named beside them, and their dates, or from threads that name them; no older torch was run.
"""

from __future__ import annotations

# Environment variables that make programs slow, by the values that switch them on, with what they do.
DEBUG_VARIABLES = {
    "CUDA_LAUNCH_BLOCKING": (frozenset({"1"}), "the host waits for every kernel"),
    "HIP_LAUNCH_BLOCKING": (frozenset({"1"}), "the host waits for every kernel"),
    "AMD_SERIALIZE_KERNEL": (frozenset({"1", "2", "3"}), "the host waits for every kernel"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": (frozenset({"1"}), "every tensor on the device is allocated by the driver"),
    "TORCH_DISTRIBUTED_DEBUG": (frozenset({"DETAIL"}), "the ranks compare every collective before they run it"),
}
# The versions since which `zero_grad` of optimizers and modules has the parameter `set_to_none`
# (pytorch/pytorch#44423, huggingface/accelerate#43), and since which it is true by default (pytorch/pytorch#92731).
ZERO_GRAD_SETS_NONE = ("1.7", "2.0")
# Optimizers and functions that clip gradients update all tensors together, by default since this version
# (pytorch/pytorch#95415).
MULTI_TENSOR_DEFAULT = "2.0"
MULTI_TENSOR = frozenset(
    f"torch.optim.{name}"
    for name in "Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD Adafactor".split()
) | frozenset(
    f"torch.nn.utils.{name}"
    for name in "clip_grad_norm_ clip_grad_value_ clip_grad.clip_grad_norm_ clip_grad.clip_grad_value_".split()
)
# `torch.optim.swa_utils.get_ema_multi_avg_fn` exists since this version; it was still under review when 2.0 was
# released (pytorch/pytorch#94820).
MULTI_TENSOR_AVERAGES = "2.1"
