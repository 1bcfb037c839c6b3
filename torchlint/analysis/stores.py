"""Attributes of objects that other code makes: what the file itself has stored in ``args.device``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.dominance import dominates
from torchlint.analysis.values import UNKNOWN, Value, join
from torchlint.analysis.walk import descendants

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 4
_STATEMENTS = (cst.Assign, cst.AnnAssign, cst.AugAssign)


class Stores:
    """Knows the assignments to such attributes of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._found: dict[str, list[tuple[cst.Attribute, cst.CSTNode]]] = {}

    def value(self, read: cst.Attribute) -> Value:
        """What an attribute of a variable holds, if the file has certainly assigned it before.

        Whatever the file assigns to attributes of that name counts, since the object may have other names.
        """
        stores = self._of(read.attr.value)
        if not stores or not isinstance(read.value, cst.Name) or not self._is_certain(read.value, stores, _DEPTH):
            return UNKNOWN
        return join(self._module.value(given) for _, given in stores)

    def _of(self, name: str) -> list[tuple[cst.Attribute, cst.CSTNode]]:
        """The targets of assignments, with what each is given; what is unpacked or added up is unknown."""
        if name not in self._found:
            names = frozenset((name,))
            statements = [node for kind in _STATEMENTS for node in self._module.nodes_of(kind, names)]
            pairs = [(target, given) for node in statements for target, given in _assigned(node)]
            self._found[name] = [(t, g) for t, g in pairs if t.attr.value == name and not _is_own(t)]
        return self._found[name]

    def _is_certain(self, name: cst.Name, stores: list[tuple[cst.Attribute, cst.CSTNode]], depth: int) -> bool:
        """One of the assignments, to an attribute of what the name holds, has run when the name is read."""
        bindings = set(self._module.definitions(name))
        for target, _ in stores:
            owners = self._module.definitions(target.value) if isinstance(target.value, cst.Name) else ()
            if not bindings.isdisjoint(owners) and self._has_run(target, name):
                return True
        only = next(iter(bindings)) if len(bindings) == 1 else None
        if only is None or only.kind != "parameter" or depth == 0:
            return False
        given = self._module.parameters.given(only)
        return bool(given) and all(isinstance(g, cst.Name) and self._is_certain(g, stores, depth - 1) for g in given)

    def _has_run(self, target: cst.Attribute, name: cst.Name) -> bool:
        statement = self._module.statement_of(target)
        if dominates(self._module, statement, name):
            return True
        if self._module.function_of(name) is None:
            return False
        block = next((a for a in self._module.ancestors(statement) if not isinstance(a, cst.SimpleStatementLine)), None)
        return block is self._module.tree  # functions are mostly called when the module has run


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


def _is_own(target: cst.Attribute) -> bool:
    return isinstance(target.value, cst.Name) and target.value.value == "self"
