"""Modes for debugging, gradients and optimizers of torch, with the versions in which they changed.

Sources: the sources of torch 2.13, its reference manual, and its release notes.
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
