"""What changes the dtype and the device that factories use where none is given, told from the text of a file."""

from __future__ import annotations

from torchlint.knowledge.screening import Trigger, guarded, whole
from torchlint.patterns import ends_with

_TYPE = "set_default_tensor_type"
# Functions of frameworks that have modules constructed on another device, or in another dtype.
_EMPTY = "init_empty_weights"
_CONSTRUCTING = ("init_module", "init_tensor", "init_on_device", "OnDevice", _EMPTY)
# Methods of modules that belong to their construction.
CONSTRUCTING_METHODS = frozenset(
    "__init__ setup build reset_parameters init_weights _init_weights configure_model post_init __post_init__".split()
)
# `with torch.device(..)`, `with device`, also after simple ones; `torch.cuda.device` chooses one GPU among others.
_ITEM = rb"[\w.]{1,80}(?:\([^()\n]{0,80}\))?\s{0,80},\s{0,80}"
_DEVICE = rb"(?:\w{1,80}\.){0,5}(?<!cuda\.)(?:device|DEVICE)[ \t]*(?:[(:,)]|as\b)"
_SCOPED = rb"with[ \t(]\s{0,80}\(?(?:" + _ITEM + rb"){0,4}" + _DEVICE
SETS_DEVICE: tuple[Trigger, ...] = (
    whole(["set_default_device", "DeviceContext", _TYPE, *_CONSTRUCTING]),
    guarded(_SCOPED, whole(["device", "DEVICE"])),
    guarded(rb"enter_context[ \t]*\([^\n]{0,200}device\b", whole(["enter_context"])),
    guarded(rb"nullcontext\b[^\n]{0,200}device\b", whole(["nullcontext"])),
    guarded(rb"nullcontext\b", whole(["nullcontext"]), before=ends_with(r"device\([^\n]{0,200}")),
    b"@torch.device(",
    b"@device(",
)
SETS_DTYPE: tuple[Trigger, ...] = (whole(["set_default_dtype", "set_default_torch_dtype", _TYPE, *_CONSTRUCTING]),)
# The meta device as the default: tensors made on it cannot be moved.
META: tuple[Trigger, ...] = (
    whole([_EMPTY]),
    guarded(rb"(?:with|enter_context|set_default_device)\b[^\n]{0,200}[\"']meta[\"']", whole(["meta"])),
)
SETS_TYPE: tuple[Trigger, ...] = (whole([_TYPE]),)
