"""Lists of ndarrays that become one tensor, also those that are filled by ``append``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.calls import argument, is_opaque, method, positional
from torchlint.analysis.values import UNKNOWN, Kind, Value, join
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
_LISTS = (Kind.LIST, Kind.TUPLE)


@dataclass(frozen=True)
class ArrayList:
    """A constructor that is given a list of ndarrays. ``single`` where the list has just one member."""

    call: cst.Call
    data: cst.BaseExpression
    element: Value
    single: bool


class ArrayLists:
    """Finds such constructors in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, call: cst.Call) -> ArrayList | None:
        """The list of ndarrays that a call converts, if it is proved to be one."""
        name = self._module.qualified(call.func)
        if name in _CONSTRUCTORS:
            data = argument(call, "data", 0) or argument(call, "obj", 0)
        elif name in LEGACY and len(call.args) == 1:
            data = positional(call, 0)
        else:
            return None
        if data is None or is_opaque(call):
            return None
        element = self._element(data)
        if element.kind is not Kind.NDARRAY:
            return None
        single = isinstance(data, (cst.List, cst.Tuple)) and len(data.elements) == 1
        return ArrayList(call, data, element, single)

    def _element(self, data: cst.BaseExpression) -> Value:
        """What every innermost member of a list is."""
        value = self._listed(data)
        for _ in range(3):
            if value.kind not in _LISTS:
                break
            value = value.each()
        return value if value.kind is Kind.NDARRAY else UNKNOWN

    def _listed(self, data: cst.BaseExpression) -> Value:
        value = self._module.value(data)
        if value.kind not in _LISTS:
            return UNKNOWN
        if value.elements:
            kinds = {member.kind for member in value.elements}
            return value if len(kinds) == 1 else UNKNOWN
        if value.element is not None:
            return value
        return Value(Kind.LIST, element=self._appended(data)) if value.elements == () else UNKNOWN

    def _appended(self, data: cst.BaseExpression) -> Value:
        """What is appended to a list that began empty; unknown if anything else may be put in."""
        members: list[Value] = []
        for read in self._reads(data):
            attribute = self._module.parent(read)
            call = self._module.parent(attribute) if isinstance(attribute, cst.Attribute) else None
            if not isinstance(call, cst.Call) or call.func is not attribute:
                continue
            verb = method(call)
            if verb in ("append", "insert"):
                members.append(self._module.value(positional(call, 1 if verb == "insert" else 0)))
            elif verb == "extend":
                members.append(self._module.value(positional(call, 0)).each())
        return join(members) if members else UNKNOWN

    def _reads(self, data: cst.BaseExpression) -> list[cst.CSTNode]:
        if isinstance(data, cst.Name):
            bindings = self._module.definitions(data)
            return [use for binding in bindings for use in self._module.uses(binding)]
        if isinstance(data, cst.Attribute):
            code = self._module.code(data)
            owner = self._module.class_of(data)
            same = [n for n in self._module.nodes_of(cst.Attribute) if n.attr.value == data.attr.value]
            return [n for n in same if self._module.class_of(n) is owner and self._module.code(n) == code]
        return []
