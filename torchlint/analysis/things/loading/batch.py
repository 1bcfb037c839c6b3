"""Batches: expressions that hold a batch from a data loader while it is still on the host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import literal, method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loading.batch_flow import BatchFlow
from torchlint.analysis.things.loading.batch_uses import BATCH, Tracking
from torchlint.analysis.things.loading.host_copies import is_copied
from torchlint.analysis.things.loading.loader import DataLoaders
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import frameworks
from torchlint.knowledge.heat import LOADER_WORDS
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_MOVED = frozenset({"to", "cuda", "cpu"})


class Source(NamedTuple):
    """Where batches come from: a loop over a loader, or a call of ``next``; ``iterable`` is the loader.

    ``repeats`` is false if only one batch is taken.
    """

    statement: cst.CSTNode
    iterable: cst.BaseExpression | None
    repeats: bool


class Batch(NamedTuple):
    """A batch, or an element of one. ``sources`` are the loops that it may come from, at least one.

    ``copied`` means that the host may have copied it, as ``x.float()`` does: the loader need not have pinned it then.
    """

    sources: tuple[Source, ...]
    copied: bool = False


class Batches:
    """The expressions of one module that are batches, on every path: found by following the batches of all loops."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._loaders = module.shared(DataLoaders)

    def of(self, node: cst.CSTNode) -> Batch | None:
        """The batch that an expression is or is part of, or None."""
        found = self._sources_of(node, ())
        repeated = tuple(source for source in found if source.repeats)
        return Batch(repeated, is_copied(self._module, node)) if repeated else None

    # -- where an expression comes from ------------------------------------------------------------

    def _sources_of(self, node: cst.CSTNode | None, visiting: tuple[Binding, ...]) -> list[Source]:
        """The sources of a batch; empty if the expression may be something else."""
        if node is None or method(node) in _MOVED:
            return []
        found = self._tracked.get(node, [])
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            certain = all(self._is_batch(binding, visiting) for binding in bindings)
            return found if found and certain else []
        if isinstance(node, cst.Attribute) and found and self._stores_only_batches(node):
            return found
        if isinstance(node, cst.Call):
            return self._sources_of_call(node, found, visiting)
        if isinstance(node, (cst.Subscript, cst.Attribute)):
            return self._sources_of(node.value, visiting)
        return []

    def _sources_of_call(self, call: cst.Call, found: list[Source], visiting: tuple[Binding, ...]) -> list[Source]:
        """The sources of ``next(loader)``, of ``batch.method()`` and of ``function(batch)``."""
        if any(source.statement is call for source in found):
            return found
        if receiver(call) is not None:
            return self._sources_of(receiver(call), visiting)
        return self._sources_of(call.args[0].value, visiting) if found and call.args else []

    def _is_batch(self, binding: Binding, visiting: tuple[Binding, ...]) -> bool:
        """Whether a binding is always one of a batch."""
        if binding not in self._bound:
            return False
        if binding.kind == "parameter":
            return binding in visiting or self._gets_only_batches(binding, (*visiting, binding))
        if isinstance(binding.value, cst.IfExp):
            sides = (binding.value.body, binding.value.orelse)
            kept = not any(is_copied(self._module, side) for side in sides)
            return kept and all(self._sources_of(side, (*visiting, binding)) for side in sides)
        return True

    def _gets_only_batches(self, binding: Binding, visiting: tuple[Binding, ...]) -> bool:
        """Whether all calls are visible, and pass batches for a parameter."""
        if any(isinstance(around, cst.Lambda) for around in self._around(binding)):
            return True  # `map(lambda t: t.cuda(), batch)`
        given = self._module.parameters.all_arguments(binding)
        return bool(given) and all(self._sources_of(argument, visiting) for argument in given)

    def _around(self, binding: Binding) -> list[cst.CSTNode]:
        return list(self._module.ancestors(binding.node))[:5]

    def _stores_only_batches(self, node: cst.Attribute) -> bool:
        """Whether an attribute gets nothing but batches, ``None``, and its own content moved."""
        owner = self._module.class_of(node)
        stored = self._module.classes.assignments(owner, node.attr.value) if owner is not None else []
        return bool(stored) and all(self._stores_batch(node, value) for value, _ in stored)

    def _stores_batch(self, node: cst.Attribute, value: cst.CSTNode) -> bool:
        if literal(value) is None or value in self._tracked:
            return True
        moved = receiver(value) if isinstance(value, cst.Call) and method(value) in _MOVED else None
        return moved is not None and dotted(moved) == dotted(node)

    # -- all batches -------------------------------------------------------------------------------

    @cached_property
    def _followed(self) -> list[tuple[Source, Tracking]]:
        """The sources of batches in source order, with what becomes of their batches."""
        flow = BatchFlow(self._module)
        found = [(source, flow.of_loop(source.statement, counted=counted)) for source, counted in self._loops()]  # type: ignore[arg-type]
        found += [(source, flow.of_fetch(source.statement)) for source in self._fetches()]  # type: ignore[arg-type]
        return sorted(found, key=lambda one: self._module.order(one[0].statement))

    @cached_property
    def _tracked(self) -> dict[cst.CSTNode, list[Source]]:
        """The nodes that may be batches, with their sources."""
        found: dict[cst.CSTNode, list[Source]] = {}
        for source, tracking in self._followed:
            for node in dict.fromkeys(node for role, node, _, _ in tracking.seen if role == BATCH):
                found.setdefault(node, []).append(source)
        return found

    @cached_property
    def _bound(self) -> set[Binding]:
        return {binding for _, tracking in self._followed for binding in tracking.bound}

    def _loops(self) -> Iterator[tuple[Source, bool]]:
        """The loops over loaders, and whether each is over ``enumerate``."""
        heat = self._module.heat_analysis
        for kind in (cst.For, cst.CompFor):
            loops: list[cst.For | cst.CompFor] = self._module.nodes_of(kind)
            for loop in loops:
                if heat.iterates_batches(loop) and not self._on_device(loop.iter):
                    yield Source(loop, loop.iter, heat.may_run_again(loop)), self._is_enumerate(loop.iter)

    def _fetches(self) -> Iterator[Source]:
        """The calls of ``next`` on loaders."""
        for call in self._module.nodes_of(cst.Call, frozenset(("next", "__next__"))):
            builtin = self._module.qualified(call.func) == "builtins.next" and bool(call.args)
            iterable = call.args[0].value if builtin else receiver(call)
            named = builtin or method(call) in ("next", "__next__")
            if named and iterable is not None and self._gives_batches(iterable) and not self._on_device(iterable):
                yield Source(call, iterable, self._is_repeated(call))

    def _gives_batches(self, iterable: cst.CSTNode, depth: int = 4) -> bool:
        """Whether an iterator is that of a loader, by its value or the name of the loader."""
        if self._module.value(iterable).kind is Kind.LOADER:
            return True
        if (dotted(iterable) or "").rpartition(".")[2].lower().endswith(LOADER_WORDS):
            return True
        found: Iterable[cst.CSTNode | None] = ()
        if isinstance(iterable, cst.Call):
            found = (argument.value for argument in iterable.args)
        elif isinstance(iterable, cst.Name):
            found = (b.value for b in self._module.definitions(iterable) if isinstance(b.value, (cst.Call, cst.IfExp)))
        return depth > 0 and any(each is not None and self._gives_batches(each, depth - 1) for each in found)

    def _is_repeated(self, call: cst.Call) -> bool:
        """Whether a call is in a loop, or in a function that the file calls in every step."""
        loops, function = self._module.heat_analysis.enclosing_loops(call)
        if loops or function is None:
            return bool(loops)
        called = bool(self._module.functions.callers(function).sites)
        return called and self._module.heat(call).rank >= Heat.STEP.rank

    def is_whole(self, binding: Binding) -> bool:
        """Whether a loop binds a name to the whole batch, as in ``for i, batch in enumerate(loader)``."""
        if binding.kind != "loop":
            return False
        target = getattr(binding.statement, "target", None)
        if isinstance(target, cst.Name):
            return not isinstance(binding.statement, cst.CompFor)
        counted = isinstance(target, cst.Tuple) and len(target.elements) == 2 and len(binding.path) == 2
        return counted and binding.path[-1] == 1 and self._is_enumerate(getattr(binding.statement, "iter", None))

    def _is_enumerate(self, iterable: cst.CSTNode | None, depth: int = 4) -> bool:
        """Whether an iterable is ``enumerate(..)``, possibly inside a wrapper."""
        if not isinstance(iterable, cst.Call):
            return False
        if self._module.qualified(iterable.func) == "builtins.enumerate":
            return True
        return depth > 0 and any(self._is_enumerate(arg.value, depth - 1) for arg in iterable.args)

    def _on_device(self, iterable: cst.CSTNode) -> bool:
        """Whether the batches of a loader are already on the device, or are moved by a framework."""
        loader = self._loaders.iterated_by(iterable)
        if loader is not None and loader.unpinnable:
            return True
        return any(map(self._is_prepared, descendants(iterable)))

    def _is_prepared(self, node: cst.CSTNode) -> bool:
        """Whether a node stands for a loader that a framework has prepared, as in ``accelerator.prepare(loader)``."""
        values: Iterable[cst.CSTNode | None] = [node]
        if isinstance(node, cst.Name):
            values = [value for binding in self._module.definitions(node) for value in self._given(binding)]
        elif isinstance(node, cst.Attribute):
            owner = self._module.value(node.value).node
            if isinstance(owner, cst.ClassDef):
                values = [value for value, _ in self._module.classes.assignments(owner, node.attr.value)]
        return any(value is not None and method(value) in frameworks.WRAPPERS for value in values)

    def _given(self, binding: Binding) -> list[cst.BaseExpression | None]:
        """What a binding gets its value from: the assigned expression, or the arguments of the calls."""
        if binding.kind != "parameter":
            return [binding.value]
        given = self._module.parameters.known_arguments(binding)
        names = (argument for argument in given if isinstance(argument, cst.Name))
        return [b.value for name in names for b in self._module.definitions(name)]
