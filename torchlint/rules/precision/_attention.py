"""Decides whether a call of multi-head attention computes weights that nothing reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import bind, literal, positional
from torchlint.analysis.values.lattice import UNKNOWN, Kind, Value, join
from torchlint.analysis.values.lists import grown
from torchlint.prefilter.needs import any_of, identifier_parts, identifiers

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding

ATTENTION = "torch.nn.MultiheadAttention"
MODULE_LIST = "torch.nn.ModuleList"
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
_EMPTY = Value(Kind.LIST, elements=())
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
        if not _is_attention(self._module.value(call.func)) and not _is_attention(self._member(call.func)):
            return False
        given = bind(call, _PARAMETERS)
        return not given.opaque and "need_weights" not in given and "average_attn_weights" not in given

    def _member(self, called: cst.BaseExpression) -> Value:
        """The member of a module list that is called: ``self.layers[i]``, or the variable of a loop over the list."""
        if isinstance(called, cst.Subscript):
            index = called.slice[0].slice if len(called.slice) == 1 else None
            return self._members(called.value) if isinstance(index, cst.Index) else UNKNOWN
        bindings = self._module.definitions(called) if isinstance(called, cst.Name) else ()
        looped = _looped(bindings[0], self._module.qualified) if len(bindings) == 1 else None
        return self._members(looped) if looped is not None else UNKNOWN

    def _members(self, held: cst.BaseExpression) -> Value:
        """What all members of ``self.layers`` are, if it is always a module list."""
        owner = self._module.class_of(held) if (dotted(held) or "").startswith("self.") else None
        if owner is None or not isinstance(held, cst.Attribute) or not isinstance(held.value, cst.Name):
            return UNKNOWN
        stored = [value for value, _ in self._module.classes.assignments(owner, held.attr.value)]
        if not stored or not all(map(self._is_list, stored)):
            return UNKNOWN
        initial = [positional(call, 0) for call in stored if isinstance(call, cst.Call)]
        given = [self._module.value(members).iterated_value() for members in initial if members is not None]
        reads = self._module.classes.reads(owner, held.attr.value)
        if not given or any(map(self._may_change, reads)):
            given.append(grown(self._module.evaluator, _EMPTY, reads).iterated_value())
        return join(given)

    def _may_change(self, read: cst.Attribute) -> bool:
        """Whether a list may get other members here: by a method, or by a store."""
        parent = self._module.parent(read)
        stored = isinstance(parent, cst.Subscript) and isinstance(self._module.parent(parent), cst.AssignTarget)
        return stored or isinstance(parent, (cst.Attribute, cst.AugAssign))

    def _is_list(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._module.qualified(node.func) == MODULE_LIST

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


def _is_attention(value: Value) -> bool:
    return value.kind is Kind.MODULE and value.source == ATTENTION


def _looped(binding: Binding, qualified: Callable[[cst.CSTNode], str | None]) -> cst.BaseExpression | None:
    """What a loop runs through whose variable this is, also through ``enumerate`` and ``zip``."""
    if binding.kind != "loop" or not isinstance(binding.value, cst.BaseExpression):
        return None
    if not isinstance(binding.value, cst.Call):
        return binding.value if binding.path == ("each",) else None
    place = binding.path[1] if len(binding.path) == 2 else None
    function = qualified(binding.value.func)
    if function == "builtins.enumerate" and place == 1:
        return positional(binding.value, 0)
    return positional(binding.value, place) if function == "builtins.zip" and isinstance(place, int) else None


def _takes_first(node: cst.Subscript) -> bool:
    """``result[0]``."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return isinstance(index, cst.Index) and literal(index.value) == 0
