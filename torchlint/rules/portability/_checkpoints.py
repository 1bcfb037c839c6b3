"""Finds checkpoints that are loaded to the device they were saved from, and then copied into a model."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import bind, keyword, method, receiver
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.knowledge.portability import LOAD_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

# Objects whose state has no tensors, or none that are large.
_WITHOUT_TENSORS = ("sched", "scaler", "sampler", "loader", "meter", "metric")


class Checkpoints:
    """The calls of ``torch.load`` in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def restored(self, load: cst.Call) -> cst.Call | None:
        """The first call of ``load_state_dict`` that gets what a call of ``torch.load`` without a device returns."""
        given = bind(load, LOAD_PARAMETERS)
        if given.opaque or "map_location" in given or self._has_alternative(load):
            return None
        return next((call for node in self._carriers(load) if (call := self._restoring(node)) is not None), None)

    def _carriers(self, load: cst.Call) -> Iterator[cst.CSTNode]:
        """The call itself, and the uses of the variable that it is assigned to."""
        yield load
        statement = self._module.parent(load)
        while isinstance(statement, cst.Subscript):
            statement = self._module.parent(statement)
        targets = statement.targets if isinstance(statement, cst.Assign) else ()
        for target in targets:
            binding = self._module.binding_of(target.target) if isinstance(target.target, cst.Name) else None
            yield from self._module.uses(binding) if binding is not None else ()

    def _restoring(self, node: cst.CSTNode) -> cst.Call | None:
        """The call of ``load_state_dict`` that has the node, or a part of it, as its first argument."""
        below: cst.CSTNode = node
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Call):
                taken = method(around) == "load_state_dict" and below is around.args[0]
                return around if taken and self._has_tensors(receiver(around)) else None
            if not isinstance(around, (cst.Subscript, cst.Arg, cst.Attribute)):
                return None
            below = around
        return None

    def _has_tensors(self, owner: cst.BaseExpression | None) -> bool:
        name = (dotted(owner) or "").rpartition(".")[2].lower() if owner is not None else ""
        return not any(word in name for word in _WITHOUT_TENSORS)

    def _has_alternative(self, load: cst.Call) -> bool:
        """Whether the checkpoint is loaded in another way after an exception, or in another branch."""
        if self._module.any_guard(load, self._is_provided_for):
            return True
        return any(self._module.exclusive(load, other) for other in self._mapped)

    @cached_property
    def _mapped(self) -> list[cst.Call]:
        """The calls of ``torch.load`` with a device."""
        calls = self._module.nodes_of(cst.Call, frozenset(("map_location",)))
        return [call for call in calls if keyword(call, "map_location") is not None]

    def _is_provided_for(self, guard: Guard) -> bool:
        """Whether the code may load the checkpoint in another way: after an exception, or without CUDA."""
        if guard.kind in ("try", "handler"):
            return True
        cuda = self._module.shared(CudaGuards)
        return guard.kind == "test" and guard.condition is not None and cuda.checks_cuda(guard.condition)
