"""Attributes of objects from elsewhere that the file itself assigns, such as ``args.device``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates
from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import UNKNOWN, Value, join

if TYPE_CHECKING:
    from torchlint.analysis.values.functions import Parameters
    from torchlint.analysis.values.protocol import Values

_DEPTH = 4
_STATEMENTS = (cst.Assign, cst.AnnAssign, cst.AugAssign)


class AttributeStores:
    """Finds the assignments to such attributes in one module."""

    def __init__(self, values: Values, parameters: Parameters) -> None:
        self._values, self._code, self._parameters = values, values.code, parameters
        self._found: dict[str, list[tuple[cst.Attribute, cst.CSTNode]]] = {}
        self._targets: dict[tuple[str, str, cst.CSTNode | None], list[cst.Attribute]] = {}

    def value(self, read: cst.Attribute) -> Value:
        """The value of an attribute that the file has certainly assigned before this read.

        Joins all assignments to attributes with this name, since the object may have several names.
        """
        name = read.attr.value
        stores = self._of(name)
        if not stores or not isinstance(read.value, cst.Name) or not self._is_certain(read.value, name, _DEPTH):
            return UNKNOWN
        memo = self._values.memo
        return memo.get_or_compute(
            ("stored", name), lambda: join(self._values.value(given) for _, given in stores), UNKNOWN
        )

    def _of(self, name: str) -> list[tuple[cst.Attribute, cst.CSTNode]]:
        """The assignment targets with their values; unpacked and augmented values are unknown."""
        if name not in self._found:
            names = frozenset((name,))
            statements = [node for kind in _STATEMENTS for node in self._code.nodes_of(kind, names)]
            pairs = [(target, given) for node in statements for target, given in _assigned(node)]
            self._found[name] = [(t, g) for t, g in pairs if t.attr.value == name and not is_own(t)]
            for target, _ in self._found[name]:
                if isinstance(target.value, cst.Name):
                    key = name, target.value.value, self._code.function_of(target)
                    self._targets.setdefault(key, []).append(target)
        return self._found[name]

    def _is_certain(self, owner: cst.Name, name: str, depth: int) -> bool:
        """Whether the attribute of a variable has certainly been assigned when the variable is read."""
        bindings = self._code.definitions(owner)
        function = self._code.function_of(owner)
        beside = self._targets.get((name, owner.value, function), [])
        outside = self._targets.get((name, owner.value, None), []) if function is not None else []
        if any(self._has_run(target, owner, bindings) for target in (*beside, *outside)):
            return True
        if len(bindings) != 1 or bindings[0].kind != "parameter" or depth == 0:
            return False
        memo = self._values.memo
        return memo.get_or_compute(
            ("stored", name, bindings[0]), lambda: self._is_given(bindings[0], name, depth - 1), False
        )

    def _is_given(self, parameter: Binding, name: str, depth: int) -> bool:
        """Whether this holds for the argument in every call of the function."""
        given = self._parameters.all_arguments(parameter)
        return bool(given) and all(isinstance(g, cst.Name) and self._is_certain(g, name, depth) for g in given)

    def _has_run(self, target: cst.Attribute, owner: cst.Name, bindings: tuple[Binding, ...]) -> bool:
        assert isinstance(target.value, cst.Name)
        if set(bindings).isdisjoint(self._code.definitions(target.value)):
            return False
        statement = self._code.statement_of(target)
        if dominates(self._code, statement, owner):
            return True
        if self._code.function_of(owner) is None:
            return False
        block = next((a for a in self._code.ancestors(statement) if not isinstance(a, cst.SimpleStatementLine)), None)
        return block is self._code.tree  # functions are mostly called after the module has run


def _assigned(node: cst.CSTNode) -> list[tuple[cst.Attribute, cst.CSTNode]]:
    if isinstance(node, cst.Assign):
        plain = [target.target for target in node.targets]
        found = [(target, node.value) for target in plain if isinstance(target, cst.Attribute)]
        unpacked = [t for t in plain if isinstance(t, (cst.Tuple, cst.List))]
        inside = [n for t in unpacked for n in descendants(t) if isinstance(n, cst.Attribute)]
        return [*found, *((attribute, node) for attribute in inside)]
    given = node.value if isinstance(node, cst.AnnAssign) else node
    target = getattr(node, "target", None)
    return [(target, given)] if isinstance(target, cst.Attribute) and given is not None else []


def is_own(target: cst.Attribute) -> bool:
    """Whether this is an attribute of ``self``."""
    return isinstance(target.value, cst.Name) and target.value.value == "self"
