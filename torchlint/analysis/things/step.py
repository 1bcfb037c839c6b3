"""Steps: the loops and functions that run once for each batch, and what they read from the device."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.read import Read, Reads
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LOOPS = (cst.For, cst.While, *COMPREHENSIONS)
_EVALUATION_STEPS = frozenset({"validation_step", "test_step", "predict_step"})
# What happens in a training step before the backward pass, between it and the optimizer's step, and after that.
Phase = Literal["forward", "backward", "logging"]


class Step:
    """A loop whose body is one step, or a function that is called in every step.

    ``place`` is the loop or the function.
    """

    def __init__(self, module: SourceModule, place: cst.CSTNode) -> None:
        self._module = module
        self.place = place

    @cached_property
    def trains(self) -> bool:
        """It updates a model, or is a function that its name does not call an evaluation."""
        heat = self._module.heat_analysis
        if heat.trains(self.place):
            return True
        if not isinstance(self.place, cst.FunctionDef):
            return False
        return not heat.evaluates(self.place) and self.place.name.value not in _EVALUATION_STEPS

    @cached_property
    def iterates_batches(self) -> bool:
        """A ``for`` loop over a data loader."""
        return isinstance(self.place, cst.For) and self._module.heat_analysis.iterates_batches(self.place.iter)

    @cached_property
    def reads(self) -> list[Read]:
        """What it reads from the device once in every step, in source order."""
        return self._module.shared(Steps).reads_of(self.place)

    def phase(self, node: cst.CSTNode) -> Phase | None:
        """The phase of the step in which a node stands; None where the step calls neither pass nor optimizer."""
        before = self._module.comes_before
        backward = [call for call in self._step_calls if method(call) != "step"]
        if backward and before(node, backward[0]):
            return "forward"
        if not self._step_calls:
            return None
        return "backward" if before(node, self._step_calls[-1]) else "logging"

    @cached_property
    def _step_calls(self) -> list[cst.CSTNode]:
        """The calls of ``backward`` and of the optimizer, in source order."""
        body = getattr(self.place, "body", self.place)
        return [node for node in descendants(body) if self._module.heat_analysis.is_step_call(node)]


class Steps:
    """The steps of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis

    def all(self) -> list[Step]:
        """The loops and functions that run in every step, in source order."""
        loops = [
            loop for kind in _LOOPS for loop in self._module.nodes_of(kind) if self._heat.loop_kind(loop) == "step"
        ]
        functions = [f for f in self._module.nodes_of(cst.FunctionDef) if self._is_hot(f)]
        return [Step(self._module, place) for place in sorted([*loops, *functions], key=self._module.order)]

    def reads_of(self, place: cst.CSTNode) -> list[Read]:
        """The reads that happen once in each step of a place."""
        return self._reads.get(place, [])

    @cached_property
    def _reads(self) -> dict[cst.CSTNode, list[Read]]:
        found: dict[cst.CSTNode, list[Read]] = {}
        for read in self._module.shared(Reads).found(self._repeats):
            if self._module.heat(read.node) is Heat.STEP:
                found.setdefault(self._heat.enclosing_step(read.node), []).append(read)
        return found

    def _repeats(self, node: cst.BaseExpression) -> bool:
        """The expression may be evaluated again and again."""
        loops, function = self._heat.enclosing_loops(node)
        return bool(loops) or (function is not None and self._is_hot(function))

    def _is_hot(self, function: cst.FunctionDef) -> bool:
        return self._heat.function_heat(function).rank >= Heat.STEP.rank
