"""What changes the dtype and the device that factories use where none is given, told from the text of a file."""

from __future__ import annotations

from torchlint.knowledge.screening import Trigger, guarded

# Frameworks that have modules constructed on another device, or in another dtype.
_CONSTRUCTING = (
    b"init_module(",
    b"init_tensor(",
    b"zero.Init(",
    b"OnDevice(",
    b"init_on_device(",
    b"init_empty_weights(",
)
# Methods of modules that belong to their construction.
CONSTRUCTING_METHODS = frozenset(
    "__init__ setup build reset_parameters init_weights _init_weights configure_model post_init __post_init__".split()
)
_TYPE = b"set_default_tensor_type"
# `with torch.device(..)`, `with device`, also among several; `torch.cuda.device` chooses one GPU among others.
_SCOPED = rb"with[ \t(]+(?:[^\n#]{0,200}[,( \t])?(?:\w+\.){0,5}(?<!cuda\.)(?:device|DEVICE)[ \t]*(?:[(:,)]|as\b)"
_ENTERED = rb"(?:enter_context|nullcontext)[^\n]{0,200}device\b|device\([^\n]{0,200}(?:nullcontext|__enter__)"
SETS_DEVICE: tuple[Trigger, ...] = (
    b"set_default_device",
    _TYPE,
    b"DeviceContext",
    *_CONSTRUCTING,
    guarded(_SCOPED, b"device", b"DEVICE"),
    guarded(_ENTERED, b"enter_context", b"nullcontext", b"__enter__"),
    guarded(rb"@(?:torch\.)?device\(", b"device"),
)
SETS_DTYPE: tuple[Trigger, ...] = (b"set_default_dtype", b"set_default_torch_dtype", _TYPE, *_CONSTRUCTING)
# The meta device as the default: tensors made on it cannot be moved.
META: tuple[Trigger, ...] = (
    b"init_empty_weights(",
    guarded(rb"(?:with|enter_context|set_default_device)\b[^\n]{0,200}[\"']meta[\"']", b"meta"),
)
SETS_TYPE: tuple[Trigger, ...] = (_TYPE,)
