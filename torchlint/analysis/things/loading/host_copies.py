"""Host copies: calls whose result is a new tensor on the host, or may be one, and so lies in pageable memory.

A loader pins its own batches. ``x.float()`` is ``x`` itself if it is float32, and a new tensor otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, keyword, method, positional, receiver
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import CASTS, COPYING, SHARING_FUNCTIONS
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CONVERTING_METHODS = CASTS.keys() | {"to", "type", "type_as"}
_DEVICES = frozenset({Kind.DEVICE, Kind.STRING})
_DEPTH = 12


def may_copy(module: SourceModule, call: cst.Call) -> bool:
    """Whether a method, or a function of torch, may return a new tensor on the host instead of its operand's memory."""
    name = module.qualified(call.func)
    if name is not None:
        return name.startswith("torch.") and _may_function_copy(module, call, name)
    verb = method(call)
    if verb in COPYING or verb == "astype":
        return True
    converts = verb in _CONVERTING_METHODS and not _names_only_a_device(module, call)
    return converts and not _keeps_dtype(module, call, receiver(call))


def is_copied(module: SourceModule, node: cst.CSTNode | None) -> bool:
    """Whether a chain of methods may copy what it begins with, as in ``batch["x"].float().unsqueeze(1)``."""
    for _ in range(_DEPTH):
        if isinstance(node, cst.Call):
            if may_copy(module, node):
                return True
            node = receiver(node) if module.qualified(node.func) is None else positional(node, 0)
        elif isinstance(node, (cst.Subscript, cst.Attribute)):
            node = node.value
        else:
            return False
    return False


def _may_function_copy(module: SourceModule, call: cst.Call, name: str) -> bool:
    data = positional(call, 0)
    if LEGACY.get(name) == "cpu" and len(call.args) == 1:
        shares = module.value(data).kind is Kind.TENSOR  # of another dtype, that is an error
        return not shares and not _keeps_dtype(module, call, data)
    if name in SHARING_FUNCTIONS or name == "torch.autograd.Variable":
        return keyword(call, "dtype") is not None and not _keeps_dtype(module, call, data)
    return True


def _keeps_dtype(module: SourceModule, call: cst.Call, operand: cst.BaseExpression | None) -> bool:
    """Whether the dtype is known before and after a call, and is the same."""
    before = module.value(operand).dtype
    return before is not None and module.value(call).dtype == before


def _names_only_a_device(module: SourceModule, call: cst.Call) -> bool:
    """Whether ``x.to(..)`` gets nothing but a device."""
    if method(call) != "to" or keyword(call, "dtype") is not None or positional(call, 1) is not None:
        return False
    return keyword(call, "device") is not None or module.value(argument(call, "device", 0)).kind in _DEVICES
