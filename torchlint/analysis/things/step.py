"""Steps: loops and functions that run once for each batch."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.knowledge.heat import EVALUATION_STEPS
from torchlint.model import Heat
from torchlint.project.followed import ASSUMED

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LOOPS = (cst.For, cst.While, *COMPREHENSIONS)
# Methods that trainers of other packages call in every step, with what the step is for.
STEP_METHODS = {
    **dict.fromkeys(("compute_loss", "training_step"), "training"),
    **dict.fromkeys(EVALUATION_STEPS, "evaluation"),
}
_CALLERS = 5  # of one another


class Step:
    """A loop that makes one step per iteration, or a function that is called in every step.

    ``place`` is the loop or the function.
    """

    def __init__(self, module: SourceModule, place: cst.CSTNode) -> None:
        self._module = module
        self.place = place

    @cached_property
    def trains(self) -> bool:
        """Whether the step updates a model, or is a function that something may call to train."""
        return self._trains(self.place, _CALLERS)

    def _trains(self, place: cst.CSTNode, depth: int) -> bool:
        heat = self._module.heat_analysis
        followed = None if isinstance(place, COMPREHENSIONS) else self._module.followed.step(place)
        if followed is not None and followed.phase != ASSUMED:
            return followed.phase == "training"
        if heat.trains(place):
            return True
        if not isinstance(place, cst.FunctionDef):
            return False
        if heat.evaluates(place) or place.name.value in EVALUATION_STEPS:
            return False
        callers = self._module.functions.callers(place)
        if callers.escapes or not callers.sites or self._module.shared(Steps).is_step_method(place) or depth == 0:
            return True
        return any(self._trains(heat.enclosing_step(site.call), depth - 1) for site in callers.sites)

    @cached_property
    def in_words(self) -> str:
        """``training step`` if reports name the place that makes it one, ``step`` otherwise."""
        known = self.trains and self._module.shared(Steps).is_known(self.place)
        return "training step" if known else "step"

    @cached_property
    def iterates_batches(self) -> bool:
        """Whether the step is an iteration of a ``for`` loop over a data loader."""
        return isinstance(self.place, cst.For) and self._module.heat_analysis.iterates_batches(self.place.iter)


class Steps:
    """The steps of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis

    def all(self) -> list[Step]:
        """The loops and functions that run in every step, in source order."""
        loops = self.loops(*_LOOPS)
        return [Step(self._module, place) for place in sorted([*loops, *self._functions], key=self._module.order)]

    def around(self, node: cst.CSTNode) -> Step:
        """The step that a node runs in."""
        return Step(self._module, self._heat.enclosing_step(node))

    @cached_property
    def sources(self) -> list[cst.CSTNode]:
        """What makes the steps: loops, and functions that something out of sight calls once for each step."""
        functions = (f for f in self._functions if self.is_step_method(f) or self._makes_step(f))
        return [*self.loops(cst.For, cst.While), *functions]

    def is_known(self, place: cst.CSTNode, depth: int = _CALLERS) -> bool:
        """Whether a loop or function is known to be part of a step, by its source."""
        if place in self.sources:
            return True
        if not isinstance(place, cst.FunctionDef) or depth == 0:
            return False
        if self._is_followed(place):
            return True
        sites = self._module.functions.callers(place).sites
        return any(self.is_known(self._heat.enclosing_step(site.call), depth - 1) for site in sites)

    def is_step_method(self, function: cst.FunctionDef) -> bool:
        """Whether a trainer of another package calls a function in every step."""
        return function.name.value in STEP_METHODS and self._module.class_of(function) is not None

    def _makes_step(self, function: cst.FunctionDef) -> bool:
        """Whether a function makes a step by itself, and nothing in sight repeats it."""
        repeated = self._module.functions.callers(function).sites or self._is_followed(function)
        return self._heat.is_step_function(function) and not repeated

    def _is_followed(self, function: cst.FunctionDef) -> bool:
        """Whether following the programs shows the loop that a function is called from in every step."""
        followed = self._module.followed.step(function)
        return followed is not None and followed.phase != ASSUMED and bool(followed.way)

    @cached_property
    def _functions(self) -> list[cst.FunctionDef]:
        return [f for f in self._module.nodes_of(cst.FunctionDef) if self._is_hot(f)]

    def loops(self, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
        """The loops of these kinds that make one step per iteration, kind by kind."""
        every = (loop for kind in kinds for loop in self._module.nodes_of(kind))
        return [loop for loop in every if self._heat.loop_kind(loop) == "step"]

    def _is_hot(self, function: cst.FunctionDef) -> bool:
        return self._heat.function_heat(function).rank >= Heat.STEP.rank
