"""Batches: expressions that hold a batch from a data loader while it is still on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loader import Loaders
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 8


class Batch(NamedTuple):
    """A batch, or an element of one, bound to a name by ``binding``.

    ``statement`` is the loop over the loader, or the statement that calls ``next``; ``iterable`` is the expression that
    it iterates over. ``whole`` is true for the batch itself, as in ``for batch in loader``.
    """

    binding: Binding
    statement: cst.CSTNode
    iterable: cst.BaseExpression | None
    whole: bool


class Batches:
    """Traces expressions of one module back to the data loaders that they come from."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._loaders = module.shared(Loaders)
        self._on_device: dict[cst.CSTNode, bool] = {}

    def of(self, node: cst.CSTNode) -> Batch | None:
        """The batch that an expression is part of, or None."""
        binding = self._of(node, _DEPTH)
        return self._batch(binding) if binding is not None else None

    def _batch(self, binding: Binding) -> Batch:
        iterable = getattr(binding.statement, "iter", None)
        if iterable is None and isinstance(binding.value, cst.Call):  # next(loader)
            iterable = binding.value.args[0].value
        return Batch(binding, binding.statement, iterable, self.is_whole(binding))

    def _of(self, node: cst.CSTNode, depth: int) -> Binding | None:
        """The binding by which a loop over a loader gave an expression its value, or None."""
        if depth == 0:
            return None
        if isinstance(node, cst.Call):
            inner = receiver(node)
            moved = method(node) in ("to", "cuda", "cpu")
            return self._of(inner, depth - 1) if inner is not None and not moved else None
        if isinstance(node, (cst.Subscript, cst.Attribute)):
            return self._of(node.value, depth - 1)
        if not isinstance(node, cst.Name):
            return None
        found = [self._from_loader(binding, depth) for binding in self._module.definitions(node)]
        return found[0] if found and all(f is not None for f in found) else None

    def _from_loader(self, binding: Binding, depth: int) -> Binding | None:
        if binding.kind == "loop":
            return self._loop_target(binding, depth)
        if binding.kind == "parameter":
            return self._lambda_parameter(binding, depth)
        if binding.kind not in ("assign", "walrus") or binding.value is None:
            return None
        if isinstance(binding.value, cst.Call):
            return binding if self._is_next(binding.value) else None
        source: cst.CSTNode = binding.value
        if isinstance(source, cst.Tuple) and len(binding.path) == 1 and isinstance(binding.path[0], int):
            source = source.elements[binding.path[0]].value if binding.path[0] < len(source.elements) else source
        return self._of(source, depth - 1) if isinstance(source, (cst.Name, cst.Subscript)) else None

    def _is_next(self, call: cst.Call) -> bool:
        """Whether a call is ``next(loader)`` in a loop."""
        if self._module.qualified(call.func) != "builtins.next" or not call.args:
            return False
        heat = self._module.heat_analysis
        return bool(heat.enclosing_loops(call)[0]) and heat.iterates_batches(call.args[0].value)

    def _loop_target(self, binding: Binding, depth: int) -> Binding | None:
        iterable = getattr(binding.statement, "iter", None)
        if iterable is None or (binding.path == ("each", 0) and self._is_enumerate(iterable)):
            return None
        if not self._module.heat_analysis.iterates_batches(iterable):
            return self._of(iterable, depth - 1) if isinstance(binding.statement, cst.CompFor) else None
        once = not self._module.heat_analysis.may_run_again(binding.statement)
        return None if once or self._is_on_device(binding.statement, iterable) else binding

    def _lambda_parameter(self, binding: Binding, depth: int) -> Binding | None:
        """The batch of which a lambda gets the elements: ``map(lambda t: t.cuda(), batch)``."""
        around = list(self._module.ancestors(binding.node))[:5]
        function = next((a for a in around if isinstance(a, cst.Lambda)), None)
        call = next((a for a in around if isinstance(a, cst.Call)), None)
        if function is None or call is None or self._module.qualified(call.func) != "builtins.map":
            return None
        return self._of(call.args[1].value, depth - 1) if len(call.args) == 2 else None

    # -- loops -------------------------------------------------------------------------------------

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

    def _is_on_device(self, statement: cst.CSTNode, iterable: cst.CSTNode) -> bool:
        """Whether the batches of a loop are already on the device, or are moved by a framework."""
        if statement not in self._on_device:
            loader = self._loaders.iterated_by(iterable)
            unpinnable = loader is not None and loader.unpinnable
            self._on_device[statement] = unpinnable or any(map(self._is_prepared, descendants(iterable)))
        return self._on_device[statement]

    def _is_prepared(self, node: cst.CSTNode) -> bool:
        """Whether a node stands for a loader that a framework has prepared, as in ``accelerator.prepare(loader)``."""
        values: list[cst.CSTNode | None] = [node]
        if isinstance(node, cst.Name):
            values = [b.value for b in self._module.definitions(node)]
        elif isinstance(node, cst.Attribute):
            owner = self._module.value(node.value).node
            if isinstance(owner, cst.ClassDef):
                values = [value for value, _ in self._module.classes.assignments(owner, node.attr.value)]
        return any(value is not None and method(value) in known.LOADER_PREPARATION for value in values)
