"""TL102: lists of ndarrays that are converted to a tensor, including those filled by ``append``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.guards import implied
from torchlint.analysis.syntax.calls import argument, is_opaque, literal, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import UNKNOWN, Kind, Value
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
ARRAY = Value(Kind.NDARRAY)
_LISTS = (Kind.LIST, Kind.TUPLE)
_ARRAY_OR_LIST = frozenset({Kind.NDARRAY, Kind.NONE, *_LISTS})  # elements of lists of arrays, and of nested lists


class ArrayList(NamedTuple):
    """A list of ndarrays that a constructor converts. ``single`` is true if it has just one element."""

    call: cst.Call
    data: cst.BaseExpression
    element: Value
    single: bool


class ArrayLists:
    """Finds the converted lists of arrays in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, call: cst.Call) -> ArrayList | None:
        """The list of ndarrays that a call converts, or None."""
        name = self._module.qualified(call.func)
        if name in _CONSTRUCTORS:
            data = argument(call, "data", 0) or argument(call, "obj", 0)
        elif name in LEGACY and len(call.args) == 1:
            data = positional(call, 0)
        else:
            return None
        if data is None or self._begins_with_other(data) or is_opaque(call) or self._may_be_ragged(call):
            return None
        element = ARRAY if self._is_tested(data) else self._element(data)
        if element.kind is not Kind.NDARRAY:
            return None
        single = isinstance(data, (cst.List, cst.Tuple)) and len(data.elements) == 1
        return ArrayList(call, data, element, single)

    def _is_tested(self, data: cst.BaseExpression) -> bool:
        """Whether a condition shows that it is a list of arrays: ``isinstance(data[0], np.ndarray)``."""
        if not isinstance(data, cst.Name):
            return False

        def shows(test: cst.BaseExpression, holds: bool) -> bool:
            return holds and isinstance(test, cst.Call) and self._tests_member(test, data.value)

        guards = (guard for guard in self._module.guards(data) if guard.kind == "test" and guard.condition is not None)
        return any(implied(guard.condition, guard.holds, shows) for guard in guards if guard.condition is not None)

    def _tests_member(self, test: cst.Call, name: str) -> bool:
        if self._module.qualified(test.func) != "builtins.isinstance" or len(test.args) != 2:
            return False
        member, kind = test.args[0].value, test.args[1].value
        first = isinstance(member, cst.Subscript) and isinstance(member.value, cst.Name) and member.value.value == name
        return first and literal(_index(member)) == 0 and self._module.qualified(kind) == "numpy.ndarray"

    def _begins_with_other(self, data: cst.BaseExpression) -> bool:
        """Whether the first element of a list is no array, so that the other elements need not be inferred."""
        first = data
        while isinstance(first, (cst.List, cst.Tuple)) and first.elements:
            first = first.elements[0].value
        return first is not data and self._module.value(first).kind not in _ARRAY_OR_LIST

    def _element(self, data: cst.BaseExpression) -> Value:
        """The common value of the innermost elements of a list."""
        value = self._uniform_list(data)
        for _ in range(3):
            if value.kind not in _LISTS:
                break
            value = value.iterated_value()
        return value if value.kind is Kind.NDARRAY else UNKNOWN

    def _uniform_list(self, data: cst.BaseExpression) -> Value:
        value = self._module.value(data)
        if value.kind not in _LISTS:
            return UNKNOWN
        if value.elements:
            kinds = {member.kind for member in value.elements}
            return value if len(kinds) == 1 else UNKNOWN
        return value if value.element is not None else UNKNOWN

    def _may_be_ragged(self, call: cst.Call) -> bool:
        """Whether a handler of ``ValueError`` shows that the rows may have different lengths."""
        return self._module.any_guard(call, _catches_value_error)


def _index(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The only index of a subscript."""
    part = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    return part.value if isinstance(part, cst.Index) else None


def _catches_value_error(guard: Guard) -> bool:
    if not isinstance(guard.node, (cst.Try, cst.TryStar)) or guard.kind != "try":
        return False
    types = [handler.type for handler in guard.node.handlers if handler.type is not None]
    return any(isinstance(n, cst.Name) and n.value == "ValueError" for t in types for n in descendants(t))
