"""How often code runs, as following the programs tells: once, once per epoch, in every step, for every element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.flow import LOOPS
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import heat as known
from torchlint.model import Heat
from torchlint.project.followed import NO_TRAINING

if TYPE_CHECKING:
    from torchlint.analysis.code import Code
    from torchlint.analysis.values.evaluate import Evaluator
    from torchlint.project.followed import FollowedRepeat

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)


class HeatAnalysis:
    """The heat of the nodes of one module."""

    def __init__(self, code: Code, values: Evaluator) -> None:
        self._code, self._values = code, values

    def of(self, node: cst.CSTNode) -> Heat:
        """How often the node runs."""
        return Heat(self._code.followed.often(node).rate)

    def function_heat(self, function: cst.FunctionDef) -> Heat:
        """How often a function runs."""
        return Heat(self._code.followed.often(function.body).rate)

    def is_throttled(self, node: cst.CSTNode, stop: cst.CSTNode) -> bool:
        """Whether a condition between a loop or function and a node in it holds seldom."""
        often = self._code.followed.often
        return often(node).rare and not often(getattr(stop, "body", stop)).rare

    def evaluates(self, place: cst.CSTNode) -> bool:
        """Whether a loop or function is a step, or part of one, of something that trains nothing."""
        return self._code.followed.often(getattr(place, "body", place)).phase in NO_TRAINING

    def trains(self, place: cst.CSTNode) -> bool:
        """Whether a loop or function goes backward or makes optimizer steps, itself or through what it calls."""
        found = self._repeat(place)
        return found is not None and found.trains

    # -- loops -----------------------------------------------------------------------------------

    def _repeat(self, place: cst.CSTNode) -> FollowedRepeat | None:
        if isinstance(place, COMPREHENSIONS):
            place = place.for_in
        return self._code.followed.repeat(place.iter if isinstance(place, cst.CompFor) else place)

    def loop_kind(self, loop: cst.CSTNode) -> str | None:
        """``step`` for a loop that makes one step per iteration, ``epoch`` for a loop around such loops, else None."""
        found = self._repeat(loop)
        if found is None or not (found.steps or found.trains):
            return None
        return "step" if found.steps else "epoch" if self._code.followed.often(loop).rate == Heat.ONCE.value else None

    def iterates_batches(self, loop: cst.CSTNode) -> bool:
        """Whether a loop iterates over a loader."""
        found = self._repeat(loop)
        return found is not None and found.batches

    def enclosing_loops(self, node: cst.CSTNode) -> tuple[list[cst.CSTNode], cst.FunctionDef | None]:
        """The loops that repeat and the comprehensions around a node, innermost first, and its function."""
        loops: list[cst.CSTNode] = []
        below = node
        for current in self._code.ancestors(node):
            if isinstance(current, (cst.FunctionDef, cst.Lambda)):
                return loops, current if isinstance(current, cst.FunctionDef) else None
            if isinstance(current, LOOPS) and below is current.body:
                if self.may_repeat(current):
                    loops.append(current)
            elif isinstance(current, COMPREHENSIONS) and below is not current.for_in:
                loops.append(current)
            below = current
        return loops, None

    def enclosing_step(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost loop around a node that makes one step per iteration; else its function, or the node itself."""
        loops, function = self.enclosing_loops(node)
        return next((loop for loop in loops if self.loop_kind(loop) == "step"), function or node)

    def may_repeat(self, loop: cst.CSTNode) -> bool:
        """Whether a loop or comprehension may run more than once: no ``break`` always ends its first iteration."""
        return not isinstance(loop, LOOPS) or self._repeat(loop) is not None

    # -- calls -----------------------------------------------------------------------------------

    def is_step_call(self, node: cst.CSTNode) -> bool:
        """``loss.backward()``, ``optimizer.step()``, ``trainer.train_step(..)``."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return False
        if method(node) != "step":
            return method(node) in known.STEP_METHODS
        owner = (dotted(node.func.value) or "").rpartition(".")[2].lower()
        named = owner.startswith(known.OPTIMIZER_WORDS) or owner in known.OPTIMIZER_NAMES or "optimizer" in owner
        return named or self._values.value(node.func.value).kind is Kind.OPTIMIZER
