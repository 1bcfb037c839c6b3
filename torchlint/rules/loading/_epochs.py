"""DataLoaders that are read once per epoch: where, and whether their datasets change in between."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loading.loader import DataLoaders, Loader
from torchlint.analysis.values.lattice import Kind
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding


class Epochs:
    """The loaders of one module that are read in every epoch of a training."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def reads_of(self, loader: Loader) -> list[cst.BaseExpression]:
        """The expressions that start a loader in every epoch, of loops that train, and of calls of ``iter``."""
        return self._reads.get(loader.call, [])

    @cached_property
    def _reads(self) -> dict[cst.Call, list[cst.BaseExpression]]:
        loaders = self._module.shared(DataLoaders)
        found: dict[cst.Call, list[cst.BaseExpression]] = {}
        for iterable in self._starts():
            loader = loaders.iterated_by(iterable)
            if loader is not None and self._is_made_before(loader, iterable):
                found.setdefault(loader.call, []).append(iterable)
        return found

    def _starts(self) -> Iterator[cst.BaseExpression]:
        heat = self._module.heat_analysis
        for loop in self._module.nodes_of(cst.For):
            if self._module.heat(loop) is Heat.EPOCH and heat.loop_kind(loop) == "step" and heat.trains(loop):
                yield loop.iter
        for call in self._module.nodes_of(cst.Call, frozenset(("iter",))):
            around = heat.enclosing_loops(call)[0]
            named = self._module.qualified(call.func) == "builtins.iter" and len(call.args) == 1
            if named and around and heat.loop_kind(around[0]) == "epoch" and heat.trains(around[0]):
                yield call.args[0].value

    def _is_made_before(self, loader: Loader, iterable: cst.BaseExpression) -> bool:
        """Whether the loader is constructed outside of the loops, or only in outer ones."""
        around = self._module.heat_analysis.enclosing_loops(iterable)[0]
        if self._module.function_of(loader.call) is not self._module.function_of(iterable):
            return self._module.heat(loader.call) is Heat.ONCE
        own = self._module.heat_analysis.enclosing_loops(loader.call)[0]
        return not around or around[0] not in own

    def workers(self, loader: Loader) -> int:
        """The number of workers, if it is written out in the call or the default of an option; else 0.

        A dictionary of arguments may lack ``num_workers`` on some paths.
        """
        given = loader.arguments("num_workers")
        written = any(arg.value in given for arg in loader.call.args)
        if len(given) != 1 or loader.opaque or not written:
            return 0
        value = self._module.value(given[0])
        if value.kind is Kind.SCALAR and (value.literal or "").isdecimal():
            return int(value.literal or 0)
        default = loader.option(given[0])[1]
        return default if isinstance(default, int) else 0

    def changes(self, loader: Loader) -> bool:
        """Whether the file may change the dataset: it sets an attribute of it, or calls a method."""
        given = loader.arguments("dataset")
        parts = [node for value in given for node in (value, *descendants(value)) if not self._module.qualified(node)]
        names = (same for part in parts if isinstance(part, cst.Name) for same in self._same_names(part))
        stored = (same for part in parts if isinstance(part, cst.Attribute) for same in self._same_attributes(part))
        return any(map(self._is_changed, (*names, *stored, *self._through_loader(loader))))

    def _same_names(self, name: cst.Name) -> Iterator[cst.CSTNode]:
        """The names that stand for the same variable."""
        bindings = self._module.definitions(name)
        for other in self._module.names_spelled(name.value) if bindings else ():
            if not isinstance(self._module.parent(other), cst.Param) and set(bindings) & {*self._definitions(other)}:
                yield other

    def _definitions(self, name: cst.Name) -> tuple[Binding, ...]:
        return self._module.definitions(name) if self._module.binding_of(name) is None else ()

    def _same_attributes(self, attribute: cst.Attribute) -> Iterator[cst.CSTNode]:
        named = self._module.attributes_named(attribute.attr.value)
        return (node for node in named if dotted(node) == dotted(attribute))

    def _through_loader(self, loader: Loader) -> Iterator[cst.CSTNode]:
        """The expressions ``loader.dataset``."""
        loaders = self._module.shared(DataLoaders)
        named = self._module.attributes_named("dataset")
        return (node for node in named if loaders.iterated_by(node.value) is loader)

    def _is_changed(self, node: cst.CSTNode) -> bool:
        member = self._module.parent(node)
        if not isinstance(member, cst.Attribute) or member.value is not node:
            return False
        use = self._module.parent(member)
        return isinstance(use, (cst.AssignTarget, cst.AugAssign)) or (isinstance(use, cst.Call) and use.func is member)
