"""Mixed precision: contexts that compute in another dtype, and gradient scalers. Source: torch.amp in torch 2.13."""

from __future__ import annotations

_SCALER = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
# Classes that scale losses, with their parameters.
GRAD_SCALERS = {
    "torch.GradScaler": ("device", *_SCALER),
    "torch.amp.GradScaler": ("device", *_SCALER),
    "torch.amp.grad_scaler.GradScaler": ("device", *_SCALER),
    "torch.cuda.amp.GradScaler": _SCALER,
    "torch.cuda.amp.grad_scaler.GradScaler": _SCALER,
    "torch.cpu.amp.GradScaler": _SCALER,
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": tuple(
        "device init_scale backoff_factor growth_factor growth_interval enabled".split()
    ),
}
# Contexts in which operations compute in another dtype: those whose first argument is the device, and all, with their
# parameters.
ANY_DEVICE_AUTOCASTS = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
_DEVICE_AUTOCAST = ("enabled", "dtype", "cache_enabled")
AUTOCASTS = {
    **dict.fromkeys(ANY_DEVICE_AUTOCASTS, ("device_type", "dtype", "enabled", "cache_enabled")),
    "torch.cuda.amp.autocast": _DEVICE_AUTOCAST,
    "torch.cuda.amp.autocast_mode.autocast": _DEVICE_AUTOCAST,
    "torch.cpu.amp.autocast": _DEVICE_AUTOCAST,
}
# What lets float32 operations use TensorFloat-32: the kinds of operations that a setting covers. Since torch 2.9 there
# are two interfaces, each with a state of its own. Setting the first one sets the second as well, but not the reverse.
OLD_TF32 = {
    "torch.set_float32_matmul_precision": ("matmul",),
    "torch.backends.cuda.matmul.allow_tf32": ("matmul",),
    "torch.backends.cudnn.allow_tf32": ("conv", "rnn"),
}
NEW_TF32 = {
    "torch.backends.cuda.matmul.fp32_precision": ("matmul",),
    "torch.backends.cudnn.conv.fp32_precision": ("conv",),
    "torch.backends.cudnn.rnn.fp32_precision": ("rnn",),
}
# These are inherited by the others in ways that differ between versions.
INHERITED_TF32 = ("torch.backends.fp32_precision", "torch.backends.cudnn.fp32_precision")
# What compares both states, and raises an error if they disagree.
TF32_READS = {
    "torch.backends.cuda.matmul.allow_tf32": ("matmul",),
    "torch.backends.cudnn.allow_tf32": ("conv", "rnn"),
    "torch.backends.cudnn.flags": ("conv", "rnn"),
}
TF32_BY_DEFAULT = {"matmul": False, "conv": True, "rnn": True}
