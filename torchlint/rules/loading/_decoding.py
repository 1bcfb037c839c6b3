"""Datasets that decode a file for each sample, and loops that train on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loading.loader import DataLoaders, Loader
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge.sample_files import DECODERS, FILE_DATASETS, HANDLES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 4


class Decoding:
    """What the loaders of one module decode in the process that trains."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def trains_on(self, loader: Loader) -> bool:
        """Whether a loop of the file trains on the batches of a loader."""
        return loader.call in self._trained

    @cached_property
    def _trained(self) -> set[cst.Call]:
        loaders, heat = self._module.shared(DataLoaders), self._module.heat_analysis
        loops = (loop for loop in self._module.nodes_of(cst.For) if heat.loop_kind(loop) == "step")
        found = (loaders.iterated_by(loop.iter) for loop in loops if heat.trains(loop))
        return {loader.call for loader in found if loader is not None}

    def decoder(self, loader: Loader) -> cst.Call | None:
        """The call that decodes a file for each sample, or that makes a dataset of files; None if there is none."""
        given = loader.arguments("dataset")
        return self._of_dataset(given[0], _DEPTH) if len(given) == 1 else None

    def _of_dataset(self, node: cst.BaseExpression | None, depth: int) -> cst.Call | None:
        value = self._module.value(node)
        if isinstance(value.node, cst.ClassDef):
            return self._of_class(value.node) if value.kind is Kind.DATASET else None
        made = value.origin
        if not isinstance(made, cst.Call) or not depth:
            return None
        name = self._module.qualified(made.func)
        if name == "torch.utils.data.Subset":
            return self._of_dataset(positional(made, 0), depth - 1)
        return made if name in FILE_DATASETS else None

    def _of_class(self, owner: cst.ClassDef) -> cst.Call | None:
        """The unconditional call in ``__getitem__``, or in methods that it calls, that decodes a file."""
        method = self._module.classes.method(owner, "__getitem__")
        if method is None or self._is_bound_to_its_process(owner):
            return None
        calls = (call for call in self._calls(method, 2) if self._module.qualified(call.func) in DECODERS)
        return next((call for call in calls if not any(self._conditions(call))), None)

    def _calls(self, function: cst.FunctionDef, depth: int) -> Iterator[cst.Call]:
        for call in self._module.within(function.body, cst.Call):
            yield call
            callee = self._module.functions.callee(call) if depth else None
            if callee is not None:
                yield from self._calls(callee, depth - 1)

    def _conditions(self, call: cst.Call) -> Iterator[bool]:
        function = self._module.function_of(call)
        guards = self._module.guards(call, stop=function) if function is not None else iter(())
        return (guard.kind not in ("try", "decorator") for guard in guards)

    def _is_bound_to_its_process(self, owner: cst.ClassDef) -> bool:
        """Whether a dataset holds what a worker process cannot get: functions without a name, and open files."""
        constructor = self._module.classes.method(owner, "__init__")
        parts = descendants(constructor.body) if constructor is not None else ()
        return any(isinstance(part, cst.Lambda) or self._opens(part) for part in parts)

    def _opens(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._module.qualified(node.func) in HANDLES
