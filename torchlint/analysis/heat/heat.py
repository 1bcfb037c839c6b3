"""Heat: how often code runs. Once, once per epoch, in every step, or for every element of a step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.heat.throttling import ThrottlingGuards, excludes_training
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.flow import LOOPS, may_repeat
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import children, descendants
from torchlint.analysis.values.fixpoint import FixpointMemo
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import heat as known
from torchlint.knowledge.synchronization import PROFILERS
from torchlint.model import Heat
from torchlint.prefilter import concepts
from torchlint.project.followed import ASSUMED

if TYPE_CHECKING:
    from torchlint.analysis.code import Code
    from torchlint.analysis.values.evaluate import Evaluator

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
_FUNCTIONS: frozenset[type] = frozenset({cst.FunctionDef, cst.Lambda})
_LOOPS: frozenset[type] = frozenset(LOOPS)
_COMPREHENSIONS: frozenset[type] = frozenset(COMPREHENSIONS)
_RANKS = (Heat.ONCE, Heat.EPOCH, Heat.STEP, Heat.ELEMENT)
_DEPTH = 6


class HeatAnalysis:
    """The heat of the nodes of one module."""

    def __init__(self, code: Code, values: Evaluator) -> None:
        self._code, self._values = code, values
        self._memo = FixpointMemo()
        self.assumed: set[cst.FunctionDef] = set()  # functions of which only an assumption says that they run in steps
        self._throttling = ThrottlingGuards(code, values, self, self._memo)
        self._repeating: dict[cst.CSTNode, bool] = {}
        self._evaluating: dict[cst.CSTNode, bool] = {}

    def of(self, node: cst.CSTNode) -> Heat:
        """How often the node runs, from the enclosing loops, the enclosing function and its callers."""
        loops, function = self.enclosing_loops(node)
        base = self.function_heat(function) if function is not None else Heat.ONCE
        heat = self._through(loops, base)
        cold = heat.rank > Heat.EPOCH.rank and self.is_throttled(node, self._hot_part(loops, function, base))
        return Heat.EPOCH if cold else heat

    def _hot_part(self, loops: list[cst.CSTNode], function: cst.FunctionDef | None, base: Heat) -> cst.CSTNode | None:
        """The code around a node that runs in every step, or makes the steps: guards outside do not count.

        A guard on ``for p in parameters`` in a function that is called in every step is one on each iteration; a guard
        on a loop over batches is not.
        """
        called = base.rank >= Heat.STEP.rank and all(self.loop_kind(loop) != "step" for loop in loops)
        return function if called or not loops else loops[-1]

    def enclosing_loops(self, node: cst.CSTNode) -> tuple[list[cst.CSTNode], cst.FunctionDef | None]:
        """The loops that repeat and the comprehensions around a node, innermost first, and its function."""
        loops: list[cst.CSTNode] = []
        below = node
        for current in self._code.ancestors(node):
            if current.__class__ in _FUNCTIONS:
                return loops, current if isinstance(current, cst.FunctionDef) else None
            if current.__class__ in _LOOPS and below is current.body:  # type: ignore[attr-defined]
                if self.may_repeat(current):
                    loops.append(current)
            elif current.__class__ in _COMPREHENSIONS and below is not current.for_in:  # type: ignore[attr-defined]
                loops.append(current)
            below = current
        return loops, None

    def is_throttled(self, node: cst.CSTNode, stop: cst.CSTNode | None = None) -> bool:
        """Whether a guard between ``stop`` and the node rarely passes, or the node belongs to a profiler's context."""
        if any(self._throttling.is_throttling(guard) for guard in self._code.guards(node, stop=stop)):
            return True
        for current in self._code.ancestors(node):
            if isinstance(current, cst.FunctionDef):
                return False
            if isinstance(current, cst.With):
                calls = [i.item.func for i in current.items if isinstance(i.item, cst.Call)]
                if any(self._code.qualified(call) in PROFILERS for call in calls):
                    return True
        return False

    def _through(self, loops: list[cst.CSTNode], base: Heat) -> Heat:
        heat = base
        for loop in reversed(loops):
            kind = self.loop_kind(loop)
            if kind == "step":
                heat = Heat.STEP
            elif heat.rank >= Heat.STEP.rank:
                heat = Heat.ELEMENT
            else:
                heat = Heat.EPOCH
        return heat

    # -- loops -----------------------------------------------------------------------------------

    def may_repeat(self, loop: cst.CSTNode) -> bool:
        """Whether a loop or comprehension may run more than once: no ``break`` always ends its first iteration."""
        found = self._repeating.get(loop)
        if found is None:
            found = not isinstance(loop, LOOPS) or may_repeat(loop, self._code.qualified)
            self._repeating[loop] = found
        return found

    def may_run_again(self, loop: cst.CSTNode) -> bool:
        """Whether a loop, or a loop around it, may repeat."""
        return self.may_repeat(loop) or bool(self.enclosing_loops(loop)[0])

    def loop_kind(self, loop: cst.CSTNode) -> str | None:
        """``step`` for a loop that makes one step per iteration, ``epoch`` for a loop around such loops, else None.

        A loop over batches is always ``step``, even if each iteration runs another loop over batches.
        """
        if not self._any_steps:
            return None
        return self._memo.get_or_compute(("loop", loop), lambda: self._classify(loop), None)

    def _classify(self, loop: cst.CSTNode) -> str | None:
        if isinstance(loop, COMPREHENSIONS):
            return "step" if self.iterates_batches(loop.for_in.iter) else None
        if not isinstance(loop, LOOPS) or not self.may_repeat(loop):
            return None
        if isinstance(loop, cst.For) and self.iterates_batches(loop.iter):
            return "step"
        if self._code.followed.step(loop) is not None:
            return "step"
        content = self._content(loop.body)
        return "epoch" if content == "step" and _counts_epochs(loop) else content

    @cached_property
    def _any_steps(self) -> bool:
        """Whether code in the file may make a step or iterate over batches."""
        return self._code.text_index.has(concepts.STEPS)

    def _content(self, body: cst.CSTNode) -> str | None:
        """``epoch`` for code that contains a loop over steps, ``step`` for code that makes a step or gets a batch."""
        if not self._any_steps:
            return None
        return self._memo.get_or_compute(("content", body), lambda: self._of_body(body), None)

    def _of_body(self, body: cst.CSTNode) -> str | None:
        found = {self._of_part(node) for node in self._own(body)}
        return "epoch" if "epoch" in found else "step" if "step" in found else None

    def _of_part(self, node: cst.CSTNode) -> str | None:
        if node.__class__ in _LOOPS:
            if self.may_repeat(node):
                return "epoch" if self.loop_kind(node) is not None else None
            return "step" if isinstance(node, cst.For) and self.iterates_batches(node.iter) else None
        if node.__class__ is not cst.Call:
            return None
        assert isinstance(node, cst.Call)
        function = self._values.functions.callee(node)
        content = self._content(function.body) if function is not None else None
        return "step" if content is None and (self.is_step_call(node) or self._fetches(node)) else content

    def _own(self, body: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes of a body, without nested functions, and without the bodies of loops that repeat."""
        stack = list(children(body))
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind in _FUNCTIONS or kind is cst.ClassDef:
                continue
            yield node
            if kind not in _LOOPS or not self.may_repeat(node):
                stack += children(node)
            elif node.orelse is not None:  # type: ignore[attr-defined]
                stack.append(node.orelse)  # type: ignore[attr-defined]

    def is_step_call(self, node: cst.CSTNode) -> bool:
        """``loss.backward()``, ``optimizer.step()``, ``trainer.train_step(..)``, ``loss_scaler(loss, optimizer)``."""
        if not isinstance(node, cst.Call):
            return False
        name = method(node)
        if name in known.STEP_METHODS:
            return True
        if name != "step":
            return self._scales(node)
        assert isinstance(node.func, cst.Attribute)
        return self._is_optimizer(node.func.value)

    def _scales(self, call: cst.Call) -> bool:
        """Whether a call is ``loss_scaler(loss, optimizer, ..)``, which goes backward and steps, as in timm."""
        if not _last_name(call.func).endswith("scaler") or len(call.args) < 2:
            return False
        return "loss" in _last_name(call.args[0].value) and self._is_optimizer(call.args[1].value)

    def _is_optimizer(self, node: cst.CSTNode) -> bool:
        owner = _last_name(node)
        named = owner.startswith(known.OPTIMIZER_WORDS) or owner in known.OPTIMIZER_NAMES or "optimizer" in owner
        return named or self._values.value(node).kind is Kind.OPTIMIZER

    def _fetches(self, call: cst.Call) -> bool:
        """``next(iterator)``, where the iterator is that of a loader."""
        if self._code.qualified(call.func) != "builtins.next" or not call.args:
            return False
        return self.iterates_batches(call.args[0].value)

    def iterates_batches(self, iterable: cst.CSTNode, depth: int = _DEPTH) -> bool:
        """Whether an expression iterates over a loader, through ``enumerate``, ``tqdm``, ``zip`` and variables."""
        if depth == 0 or not self._any_steps:
            return False
        if self._values.value(iterable).kind is Kind.LOADER:
            return True
        if isinstance(iterable, cst.Call):
            return self._wraps(iterable, depth)
        name = dotted(iterable)
        if isinstance(iterable, cst.Subscript):
            name = dotted(iterable.value)
        if name is not None and name.rpartition(".")[2].lower().endswith(known.LOADER_WORDS):
            return True
        if isinstance(iterable, cst.Name):
            values = [b.value for b in self._code.definitions(iterable) if b.kind == "assign" and b.value is not None]
            return any(isinstance(v, (cst.Call, cst.IfExp)) and self.iterates_batches(v, depth - 1) for v in values)
        if isinstance(iterable, cst.IfExp):
            return any(self.iterates_batches(side, depth - 1) for side in (iterable.body, iterable.orelse))
        return False

    def _wraps(self, call: cst.Call, depth: int) -> bool:
        verb = method(call)
        if self._code.qualified(call.func) is None and verb is not None and verb not in known.LOADER_WRAPPING_METHODS:
            return False
        if self._code.qualified(call.func) in ("builtins.range", "builtins.len"):
            return False
        return any(self.iterates_batches(arg.value, depth - 1) for arg in call.args)

    # -- functions -------------------------------------------------------------------------------

    def function_heat(self, function: cst.FunctionDef) -> Heat:
        """How often a function runs."""
        return self._memo.get_or_compute(("function", function), lambda: self._compute(function), Heat.ONCE)

    def _compute(self, function: cst.FunctionDef) -> Heat:
        followed = self._code.followed.step(function)
        hot = self._is_hot_by_name(function) and (followed is not None or not self._code.followed.reaches(function))
        if hot or (followed is not None and followed.phase != ASSUMED):
            return Heat.STEP
        callers = self._values.functions.callers(function)
        others = [site.call for site in callers.sites if self._code.function_of(site.call) is not function]
        ranks = [self.of(call).rank for call in others]
        called = function.name.value == "__call__" and self._steps(function)
        if not ranks and (called or self.is_step_function(function)):
            return Heat.STEP
        rank = max(ranks, default=0)
        if followed is not None:
            places = zip(ranks, (self._code.function_of(call) for call in others), strict=True)
            if all(rank < Heat.STEP.rank or around in self.assumed for rank, around in places):
                self.assumed.add(function)
                return Heat.STEP
        return Heat.STEP if rank > Heat.STEP.rank and self._steps(function) else _RANKS[rank]

    def _is_hot_by_name(self, function: cst.FunctionDef) -> bool:
        name, owner = function.name.value, self._code.class_of(function)
        return name in known.HOT_FUNCTIONS or (name in known.HOT_METHODS and owner is not None)

    def _steps(self, function: cst.FunctionDef) -> bool:
        return self._content(function.body) == "step"

    def is_step_function(self, function: cst.FunctionDef) -> bool:
        """Whether a function makes one step and its name says so; it is assumed to be called in a loop elsewhere."""
        words = set(function.name.value.lower().strip("_").split("_"))
        return "test" not in words and not words.isdisjoint(known.STEP_WORDS) and self._steps(function)

    def enclosing_step(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost loop around a node that makes one step per iteration; else its function, or the node itself."""
        loops, function = self.enclosing_loops(node)
        return next((loop for loop in loops if self.loop_kind(loop) == "step"), function or node)

    # -- what a loop is for ----------------------------------------------------------------------

    def trains(self, place: cst.CSTNode) -> bool:
        """Whether a loop or function makes optimizer steps, itself or through functions of the file that it calls."""
        body = getattr(place, "body", None)
        return body is not None and self._trains(body)

    def _trains(self, body: cst.CSTNode) -> bool:
        if not self._any_steps:
            return False
        return self._memo.get_or_compute(
            ("training", body), lambda: any(self._trains_below(node) for node in descendants(body)), False
        )

    def _trains_below(self, node: cst.CSTNode) -> bool:
        if self.is_step_call(node):
            return True
        function = self._values.functions.callee(node) if isinstance(node, cst.Call) else None
        return function is not None and self._trains(function.body)

    def evaluates(self, place: cst.CSTNode) -> bool:
        """A loop that trains nothing, without gradients, or in a function that says that it evaluates."""
        if self.trains(place):
            return False
        function = place if isinstance(place, cst.FunctionDef) else self._code.function_of(place)
        words = set(function.name.value.lower().strip("_").split("_")) if function is not None else set()
        return self.gradients_disabled(place) or not words.isdisjoint(known.EVALUATION_WORDS)

    def is_outside_training(self, node: cst.CSTNode, depth: int = 3) -> bool:
        """Whether a node, or every call of its function, is in a branch for ``not self.training``."""
        if self._code.any_guard(node, excludes_training):
            return True
        function = self._code.function_of(node) if depth else None
        callers = self._values.functions.callers(function) if function is not None else None
        if callers is None or callers.escapes or not callers.sites:
            return False
        return all(self.is_outside_training(site.call, depth - 1) for site in callers.sites)

    def gradients_disabled(self, place: cst.CSTNode) -> bool:
        """Whether gradients are disabled around a loop, in its whole body, or in its whole function."""
        for around in (place, *self._code.ancestors(place)):
            if isinstance(around, cst.With):
                if any(self._no_gradients(item.item) for item in around.items):
                    return True
            elif isinstance(around, cst.FunctionDef):
                if any(self._no_gradients(d.decorator) for d in around.decorators):
                    return True
                return self._body_evaluates(place)
        return self._body_evaluates(place)

    def _no_gradients(self, node: cst.BaseExpression) -> bool:
        function = node.func if isinstance(node, cst.Call) else node
        return self._code.qualified(function) in known.NO_GRADIENTS

    def _body_evaluates(self, loop: cst.CSTNode) -> bool:
        """Whether the body of a loop disables gradients and never calls ``backward``."""
        body = getattr(loop, "body", None)
        if not isinstance(body, cst.IndentedBlock):
            return False
        if body not in self._evaluating:
            withs = (s for s in body.body if isinstance(s, cst.With))
            switched_off = any(self._no_gradients(item.item) for with_ in withs for item in with_.items)
            self._evaluating[body] = switched_off and not any(method(n) == "backward" for n in descendants(body))
        return self._evaluating[body]


def _last_name(node: cst.CSTNode) -> str:
    """``optimizer`` for ``self.Optimizer``; empty for anything but a chain of names."""
    return (dotted(node) or "").rpartition(".")[2].lower()


def _counts_epochs(loop: cst.CSTNode) -> bool:
    """``for epoch in range(n)`` around a step on the full data set: its body runs once per epoch."""
    target = getattr(loop, "target", None)
    return isinstance(target, cst.Name) and "epoch" in target.value.lower()
