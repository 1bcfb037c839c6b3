"""Decides whether a call of ``empty_cache`` in a step serves no purpose there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.move import Moves
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

# A function with one of these words in its names moves models in and out, shares the device, or measures memory.
_REASONS = frozenset(
    "offload offloaded offloading onload unload reload swap sleep wake vllm sglang colocate reset_peak_memory_stats "
    "reset_max_memory_allocated reset_accumulated_memory_stats".split()
)
_MODELS = frozenset("model models net network pipe pipeline encoder decoder unet vae optimizer".split())
_KINDS = (Kind.MODULE, Kind.OPTIMIZER)
# A comment with one of these says that memory runs out without the call.
_STATED = ("fragment", "oom", "out of memory", "out-of-memory")
_AVAILABLE = frozenset(
    f"torch.{owner}.is_available" for owner in ("accelerator", "mps", "xpu", "backends.mps", "backends.xpu")
)


class Clearing:
    """The calls of ``empty_cache`` in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def is_wasted(self, call: cst.CSTNode) -> bool:
        """Whether the call is under no condition, and nothing in its function shows why the memory must be released."""
        loops = (around for around in self._module.ancestors(call) if isinstance(around, (cst.For, cst.While)))
        place = self._module.function_of(call) or next(loops, self._module.tree)
        if self._after_failure(call) or self._has_reason(place):
            return False
        return all(self._always_holds(guard, place) for guard in self._module.guards(call, stop=place))

    def _always_holds(self, guard: Guard, place: cst.CSTNode) -> bool:
        """Whether a guard is no condition, checks for an accelerator, or guards the whole step."""
        if guard.kind in ("try", "decorator") or isinstance(guard.node, (cst.Assert, cst.While)):
            return True
        condition = guard.condition if guard.kind == "test" else None
        if condition is None:
            return False
        if self._module.shared(CudaGuards).implies_cuda(condition, guard.holds) or self._guards_step(guard, place):
            return True
        return guard.holds and isinstance(condition, cst.Call) and self._module.qualified(condition.func) in _AVAILABLE

    def _guards_step(self, guard: Guard, place: cst.CSTNode) -> bool:
        """Whether the backward pass or the optimizer step has the same guard: if it fails, there is no step."""
        heat = self._module.heat_analysis
        work = (node for node in self._module.within(place, cst.Call) if heat.is_step_call(node))
        around = (other for node in work for other in self._module.guards(node, stop=place))
        return any(other.node is guard.node and other.holds is guard.holds for other in around)

    def _has_reason(self, place: cst.CSTNode) -> bool:
        """Whether the function moves models to the host, deletes them, shares the device, or measures memory."""
        names = {name.value.lower() for name in self._module.within(place, cst.Name)}
        words = names | {word for name in names for word in name.split("_")}
        return (
            not words.isdisjoint(_REASONS)
            or any(self._moves_model(node) for node in self._module.within(place, cst.Call))
            or any(self._deletes_model(node) for node in self._module.within(place, cst.Del))
        )

    def _moves_model(self, call: cst.Call) -> bool:
        """Whether a call moves a module to the host: the receiver is known to be one, or the result is not used."""
        move = self._module.shared(Moves).at(call)
        if move is None or not move.to_host:
            return False
        return isinstance(self._module.parent(call), cst.Expr) or self._module.value(move.moved).kind in _KINDS

    def _deletes_model(self, statement: cst.Del) -> bool:
        names = list(self._module.within(statement, cst.Name))
        last = {name.value.lower().rpartition("_")[2] for name in names}
        return not last.isdisjoint(_MODELS) or any(self._module.value(name).kind in _KINDS for name in names)

    def _after_failure(self, call: cst.CSTNode) -> bool:
        """Whether the call is in the ``finally`` block of a ``try`` statement that has handlers."""
        around = [call, *self._module.ancestors(call)]
        return any(isinstance(a, cst.Try) and a.handlers and a.finalbody in around for a in around)

    def is_explained(self, call: cst.CSTNode) -> bool:
        """Whether a comment says that memory is fragmented or runs out."""
        comments = self._module.comments(*self._module.statement_lines(call)).lower()
        return any(word in comments for word in _STATED)
