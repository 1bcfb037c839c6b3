"""Steps: loops and functions that run once for each batch."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.repetition import COMPREHENSIONS
from torchlint.knowledge.following import EVALUATING
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LOOPS = (cst.For, cst.While, *COMPREHENSIONS)
# Methods that trainers of other packages call in every step, with what the step is for.
_STEP_METHODS = {
    **dict.fromkeys(("compute_loss", "training_step"), "training"),
    **dict.fromkeys(EVALUATING, "evaluation"),
}


class Step:
    """A loop that makes one step per iteration, or a function that is called in every step.

    ``place`` is the loop or the function.
    """

    def __init__(self, module: SourceModule, place: cst.CSTNode) -> None:
        self.place = place
        self._often = module.followed.often(getattr(place, "body", place))

    @property
    def trains(self) -> bool:
        """Whether the step updates a model, or is a function that something may call to train."""
        return self._often.phase == "training"


class Steps:
    """The steps of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis

    def all(self) -> list[Step]:
        """The loops and functions that run in every step, in source order."""
        loops = self.loops(*_LOOPS)
        return [Step(self._module, place) for place in sorted([*loops, *self._functions], key=self._module.order)]

    @cached_property
    def sources(self) -> list[cst.CSTNode]:
        """What makes the steps: loops, and functions that something out of sight calls once for each step."""
        functions = (f for f in self._functions if self._is_step_method(f) or self._makes_step(f))
        return [*self.loops(cst.For, cst.While), *functions]

    def _is_step_method(self, function: cst.FunctionDef) -> bool:
        """Whether a trainer of another package calls a function in every step."""
        return function.name.value in _STEP_METHODS and self._module.class_of(function) is not None

    def _makes_step(self, function: cst.FunctionDef) -> bool:
        """Whether a function makes a step by itself, and nothing is known to repeat it."""
        return self._heat.trains(function) and self._module.followed.often(function.body).by == "caller"

    @cached_property
    def _functions(self) -> list[cst.FunctionDef]:
        found = self._module.nodes_of(cst.FunctionDef)
        return [each for each in found if self._heat.function_heat(each).rank >= Heat.STEP.rank]

    def recognized(self) -> list[tuple[int, int, str]]:
        """The first and last lines of what makes steps, with what they do, in source order, for the report.

        Of nested loops only the outermost counts. A loop whose body is in other files is over ``batches``, whatever
        these do with them; a framework calls the methods of a module for each batch.
        """
        module, sources = self._module, dict.fromkeys(self.sources)
        outer = [each for each in sources if not any(around in sources for around in module.ancestors(each))]
        return sorted({(module.line(each), module.span(each).end_line, self._purpose(each)) for each in outer})

    def _purpose(self, source: cst.CSTNode) -> str:
        if isinstance(source, cst.FunctionDef):
            return _STEP_METHODS.get(source.name.value, "training")
        phase = self._module.followed.often(getattr(source, "body", source)).phase
        if phase == "training" or self._heat.trains(source):
            return "training"
        return "evaluation" if phase == "inference" else "batches"

    def loops(self, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
        """The loops of these kinds that make one step per iteration, kind by kind."""
        every = (loop for kind in kinds for loop in self._module.nodes_of(kind))
        return [loop for loop in every if self._heat.loop_kind(loop) == "step"]
