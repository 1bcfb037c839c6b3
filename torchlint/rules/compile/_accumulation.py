"""Finds loops that accumulate gradients over several backward passes before the optimizer makes a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Packages whose context managers do not decide whether gradients are synchronized, except for `no_sync`.
_OF_LIBRARIES = ("torch.", "apex.", "contextlib.nullcontext", "warnings.")
_OTHER_STEPS = ("sched", "lr_", "warmup", "prof")
_OPTIMIZERS = ("opt", "scaler")


class Accumulation(NamedTuple):
    """The backward pass in every iteration of a loop, and the optimizer's step in every N-th one."""

    backward: cst.Call
    step: cst.Call


class Accumulations:
    """The loops of one module that accumulate gradients."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def in_loop(self, loop: cst.CSTNode) -> Accumulation | None:
        """The accumulation in a loop, if all steps of optimizers there are made in every N-th iteration only."""
        if not isinstance(loop, cst.For):
            return None
        calls, heat = list(self._module.within(loop, cst.Call)), self._module.heat_analysis
        backward = [call for call in calls if method(call) == "backward" and not heat.is_throttled(call, loop)]
        steps = [call for call in calls if self._may_step(call)]
        if len(backward) != 1 or not steps or not all(heat.is_throttled(step, loop) for step in steps):
            return None
        if heat.enclosing_step(backward[0]) is not loop or self._is_in_context(backward[0], loop):
            return None
        certain = next(filter(self._steps_optimizer, steps), None)
        return None if certain is None else Accumulation(backward[0], certain)

    def _may_step(self, call: cst.Call) -> bool:
        """``optimizer.step()`` or ``scaler.step(optimizer)``, not the step of a scheduler or profiler."""
        owner = _owner(call)
        return bool(owner) and not any(word in owner for word in _OTHER_STEPS)

    def _steps_optimizer(self, call: cst.Call) -> bool:
        """Whether a step is certainly one of an optimizer, by its value or its name."""
        kind = self._module.value(receiver(call)).kind
        return kind in (Kind.OPTIMIZER, Kind.SCALER) or any(word in _owner(call) for word in _OPTIMIZERS)

    def _is_in_context(self, call: cst.Call, loop: cst.For) -> bool:
        """Whether a context manager around a backward pass is unknown, and so may keep DDP from synchronizing."""
        for around in self._module.ancestors(call):
            if around is loop:
                return False
            if isinstance(around, cst.With):
                made = (item.item.func if isinstance(item.item, cst.Call) else item.item for item in around.items)
                if not all((self._module.qualified(node) or "").startswith(_OF_LIBRARIES) for node in made):
                    return True
        return False


def _owner(call: cst.Call) -> str:
    """The name of what makes a step, in lower case; empty for other calls."""
    return (dotted(receiver(call)) or "").lower() if method(call) == "step" else ""
