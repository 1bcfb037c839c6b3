"""Decides whether a call of ``empty_cache`` runs in every step and serves no purpose there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.move import Moves
from torchlint.analysis.values.lattice import Kind
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

# A step with one of these words in its names moves models in and out, shares the device, or measures memory.
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
        self._holding: dict[cst.CSTNode, bool] = {}

    def is_wasted(self, call: cst.CSTNode) -> bool:
        """Whether the call runs in every step, and nothing in the step shows why the memory must be released."""
        return not self._after_failure(call) and self._in_every_step(call, frozenset())

    def _in_every_step(self, node: cst.CSTNode, seen: frozenset[cst.CSTNode]) -> bool:
        """Whether a node runs in every step, under no condition except that an accelerator is available."""
        if self._module.heat(node).rank < Heat.STEP.rank or node in seen:
            return False
        place = self._module.heat_analysis.enclosing_step(node)
        if not all(self._always_holds(guard, place) for guard in self._module.guards(node, stop=place)):
            return False
        if self._has_reason(place) or self._holds_steps(place):
            return False
        if not isinstance(place, cst.FunctionDef):
            return True
        sites = self._module.functions.callers(place).sites
        return not sites or any(self._in_every_step(site.call, seen | {node}) for site in sites)

    def _holds_steps(self, place: cst.CSTNode) -> bool:
        """Whether a loop or function runs another loop over batches each time, as an epoch does."""
        if place not in self._holding:
            self._holding[place] = False  # for recursive functions
            inside = (*self._module.within(place, cst.For), *self._module.within(place, cst.Call))
            is_throttled = self._module.heat_analysis.is_throttled
            self._holding[place] = any(
                self._leads_to_steps(node) for node in inside if node is not place and not is_throttled(node, place)
            )
        return self._holding[place]

    def _leads_to_steps(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.For):
            return self._module.heat_analysis.iterates_batches(node.iter)
        function = self._module.functions.callee(node) if isinstance(node, cst.Call) else None
        return function is not None and self._holds_steps(function)

    def _always_holds(self, guard: Guard, place: cst.CSTNode) -> bool:
        """Whether a guard checks for an accelerator, or guards the whole step."""
        if guard.kind in ("try", "decorator") or isinstance(guard.node, (cst.Assert, cst.While)):
            return True
        if guard.kind != "test" or guard.condition is None:
            return False
        return self._checks_for_accelerator(guard) or self._guards_step(guard, place)

    def _checks_for_accelerator(self, guard: Guard) -> bool:
        assert guard.condition is not None
        if self._module.shared(CudaGuards).implies_cuda(guard.condition, guard.holds):
            return True
        condition = guard.condition
        return guard.holds and isinstance(condition, cst.Call) and self._module.qualified(condition.func) in _AVAILABLE

    def _guards_step(self, guard: Guard, place: cst.CSTNode) -> bool:
        """Whether the backward pass or the optimizer step has the same guard: if it fails, there is no step."""
        heat = self._module.heat_analysis
        work = (node for node in self._module.within(place, cst.Call) if heat.is_step_call(node))
        around = (other for node in work for other in self._module.guards(node, stop=place))
        return any(other.node is guard.node and other.holds is guard.holds for other in around)

    def _has_reason(self, place: cst.CSTNode) -> bool:
        """Whether the step moves models to the host, deletes them, shares the device, or measures memory."""
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
