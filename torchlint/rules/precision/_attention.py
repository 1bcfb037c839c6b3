"""Decides whether a call of multi-head attention computes weights that nothing reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import bind, literal
from torchlint.analysis.values.lattice import Kind
from torchlint.prefilter.needs import any_of, identifier_parts, identifiers

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

ATTENTION = "torch.nn.MultiheadAttention"
_PARAMETERS = (
    "query",
    "key",
    "value",
    "key_padding_mask",
    "need_weights",
    "attn_mask",
    "average_attn_weights",
    "is_causal",
)
# A hook may read the weights, and code for ONNX may need operations that every runtime has.
_OTHER_READERS = any_of(identifiers("register_forward_hook"), identifier_parts("onnx"))


class Attention:
    """The calls of ``nn.MultiheadAttention`` in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._hidden_readers = module.text_index.has(_OTHER_READERS)

    def discards_weights(self, call: cst.Call) -> bool:
        """Whether the call lets attention compute weights by default, and nothing reads them."""
        if self._hidden_readers or self._module.function_of(call) is None or not self._is_unread(call):
            return False
        value = self._module.value(call.func)
        if value.kind is not Kind.MODULE or value.source != ATTENTION:
            return False
        given = bind(call, _PARAMETERS)
        return not given.opaque and "need_weights" not in given and "average_attn_weights" not in given

    def _is_unread(self, call: cst.Call) -> bool:
        """Whether the second member of the result is certainly not read."""
        parent = self._module.parent(call)
        if isinstance(parent, cst.Subscript):
            return _takes_first(parent)
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return False
        target = parent.targets[0].target
        if isinstance(target, cst.Name):
            uses = self._uses(target) or []
            return bool(uses) and all(self._is_of_first(use) for use in uses)
        return isinstance(target, cst.Tuple) and self._ignores_second(target)

    def _ignores_second(self, target: cst.Tuple) -> bool:
        if len(target.elements) != 2 or any(isinstance(e, cst.StarredElement) for e in target.elements):
            return False
        second = target.elements[1].value
        return isinstance(second, cst.Name) and self._uses(second) == []

    def _uses(self, target: cst.Name) -> list[cst.Name] | None:
        """The uses of a variable of a function; None if code out of sight may read it."""
        scope = self._module.names.scope_at(target)
        binding = self._module.binding_of(target)
        if binding is None or not isinstance(scope.node, cst.FunctionDef) or target.value in scope.outer:
            return None
        return self._module.uses(binding)

    def _is_of_first(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        return isinstance(parent, cst.Subscript) and parent.value is use and _takes_first(parent)


def _takes_first(node: cst.Subscript) -> bool:
    """``result[0]``."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return isinstance(index, cst.Index) and literal(index.value) == 0
