"""Batches that pinning returns as they are: which objects these are, and which loaders yield them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.things.loading.callables import called_function
from torchlint.analysis.things.loading.loader import Loader
from torchlint.analysis.values.lattice import Kind, Value

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Bases that make a class neither a container nor pinnable.
_PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})


class UnpinnedBatch(NamedTuple):
    """What a ``collate_fn`` returns: an instance of the class ``owner``, or NumPy arrays if that is empty."""

    result: cst.BaseExpression
    owner: str


class Unpinnable:
    """Finds the loaders of one module whose batches cannot be pinned."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def batch_of(self, loader: Loader) -> UnpinnedBatch | None:
        """What all batches of a loader are; None if some may be pinned."""
        given = loader.arguments("collate_fn")
        found = [self._of_collate(node) for node in given]
        return next(iter(found)) if found and all(found) else None

    def _of_collate(self, node: cst.BaseExpression) -> UnpinnedBatch | None:
        value = self._module.value(node)
        if value.kind is Kind.CLASS and isinstance(value.node, cst.ClassDef):
            owner = value.node
            return UnpinnedBatch(node, owner.name.value) if self._lacks_pinning(owner) else None
        function = called_function(self._module, node)
        results = self._results(function)
        found = [self._unpinned(result) for result in results]
        return found[0] if found and all(found) else None

    def _results(self, function: cst.FunctionDef | cst.Lambda | None) -> list[cst.BaseExpression]:
        if isinstance(function, cst.Lambda):
            return [function.body]
        if function is None or self._module.functions.body(function).is_generator:
            return []
        returns = self._module.functions.body(function).returns
        return [r.value for r in returns if r.value is not None] if all(r.value for r in returns) else []

    def _unpinned(self, result: cst.BaseExpression) -> UnpinnedBatch | None:
        value = self._module.value(result)
        owner = self._owner(value)
        if owner is not None:
            return UnpinnedBatch(result, owner)
        members = self._members(value)
        arrays = bool(members) and all(member.kind is Kind.NDARRAY for member in members)
        return UnpinnedBatch(result, "") if arrays else None

    def _members(self, value: Value) -> list[Value]:
        """The values in a tuple, list or dictionary display; the value itself if it is no container."""
        if value.kind is Kind.DICT:
            elements = value.node.elements if isinstance(value.node, cst.Dict) else ()
            return [self._module.value(e.value if isinstance(e, cst.DictElement) else None) for e in elements]
        return list(value.elements or ()) if value.kind in (Kind.LIST, Kind.TUPLE) else [value]

    def _owner(self, value: Value) -> str | None:
        """The name of the class that a value is an instance of, if it cannot be pinned."""
        owner = value.node
        if value.kind is not Kind.INSTANCE or not isinstance(owner, cst.ClassDef) or not self._lacks_pinning(owner):
            return None
        return owner.name.value

    def _lacks_pinning(self, owner: cst.ClassDef) -> bool:
        """Whether a class is known in whole, is no container, and has no ``pin_memory``."""
        classes = self._module.classes
        names = ("pin_memory", "__getattr__", "__getattribute__")
        if any(classes.method(owner, name) is not None or classes.assignments(owner, name) for name in names):
            return False
        return not owner.keywords and all(self._is_plain(base) for base in owner.bases)

    def _is_plain(self, base: cst.Arg) -> bool:
        node = base.value.value if isinstance(base.value, cst.Subscript) else base.value
        if self._module.qualified(node) in _PLAIN_BASES:
            return True
        owner = self._module.value(node).node
        return isinstance(owner, cst.ClassDef) and self._lacks_pinning(owner)
