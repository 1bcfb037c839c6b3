"""Heat: how often a line runs. Once, once an epoch, every step, or for every element of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.bindings import dotted
from torchlint.analysis.calls import method
from torchlint.analysis.values import Kind
from torchlint.analysis.walk import descendants
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_STEP_METHODS = frozenset({"backward", "manual_backward"})
_HOT_METHODS = frozenset(
    {
        "forward",
        "training_step",
        "validation_step",
        "test_step",
        "predict_step",
        "compute_loss",
        "__getitem__",
        "__next__",
    }
)
_HOT_FUNCTIONS = frozenset({"collate_fn", "collate", "collate_batch"})
_LOADER_WORDS = ("loader", "dataloader", "data_iter", "train_iter")
_RANKS = (Heat.ONCE, Heat.EPOCH, Heat.STEP, Heat.ELEMENT)


class Heats:
    """Heat of the nodes of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._loops: dict[cst.CSTNode, str | None] = {}
        self._functions: dict[cst.CSTNode, Heat] = {}

    def of(self, node: cst.CSTNode) -> Heat:
        """How often the node runs, from the loops around it, the function it is in, and who calls that."""
        loops: list[cst.CSTNode] = []
        cold = False
        below, current = node, self._module.parent(node)
        while current is not None and not isinstance(current, (cst.FunctionDef, cst.Lambda)):
            if isinstance(current, (cst.For, cst.While)) and below is current.body:
                loops.append(current)
            elif (
                isinstance(current, (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp))
                and below is not current.for_in
            ):
                loops.append(current)
            cold = cold or _is_cool(current, below)
            below, current = current, self._module.parent(current)
        base = self._function(current) if isinstance(current, cst.FunctionDef) else Heat.ONCE
        heat = self._through(loops, base)
        return Heat.EPOCH if cold and heat.rank > Heat.EPOCH.rank else heat

    def _through(self, loops: list[cst.CSTNode], base: Heat) -> Heat:
        heat = base
        for loop in reversed(loops):
            kind = self.loop(loop)
            if kind == "step":
                heat = Heat.STEP
            elif heat.rank >= Heat.STEP.rank:
                heat = Heat.ELEMENT
            else:
                heat = Heat.EPOCH
        return heat

    def loop(self, loop: cst.CSTNode) -> str | None:
        """``step`` for a loop whose body is one step, ``epoch`` for a loop around such loops, else None."""
        if loop not in self._loops:
            self._loops[loop] = self._classify(loop)
        return self._loops[loop]

    def _classify(self, loop: cst.CSTNode) -> str | None:
        if isinstance(loop, cst.For) and self._over_loader(loop.iter):
            return "step"
        if not isinstance(loop, (cst.For, cst.While)):
            return None
        inner = [n for n in descendants(loop.body) if isinstance(n, (cst.For, cst.While))]
        if any(self.loop(n) == "step" for n in inner):
            return "epoch"
        return "step" if any(self._is_step(n) for n in descendants(loop.body)) else None

    def _is_step(self, node: cst.CSTNode) -> bool:
        name = method(node)
        if name is None or not isinstance(node, cst.Call):
            return False
        if name in _STEP_METHODS:
            return True
        assert isinstance(node.func, cst.Attribute)
        owner = (dotted(node.func.value) or "").rpartition(".")[2].lower()
        return name == "step" and (owner.startswith(("optim", "opt_")) or owner in ("opt", "scaler"))

    def _over_loader(self, iterable: cst.BaseExpression) -> bool:
        current: cst.BaseExpression = iterable
        while isinstance(current, cst.Call) and current.args:
            current = current.args[0].value
        if self._module.value(current).kind is Kind.LOADER:
            return True
        last = (dotted(current) or "").rpartition(".")[2].lower()
        return last.endswith(_LOADER_WORDS)

    def _function(self, function: cst.FunctionDef) -> Heat:
        known = self._functions.get(function)
        if known is None:
            self._functions[function] = Heat.ONCE
            known = self._functions[function] = self._compute(function)
        return known

    def _compute(self, function: cst.FunctionDef) -> Heat:
        name = function.name.value
        if name in _HOT_FUNCTIONS or (name in _HOT_METHODS and self._module.class_of(function) is not None):
            return Heat.STEP
        sites = self._module.functions.callers(function).sites
        ranks = [self.of(site.call).rank for site in sites]
        return _RANKS[max(ranks, default=0)]


def _is_cool(current: cst.CSTNode, below: cst.CSTNode) -> bool:
    """Under ``if step % n == 0``, in an exception handler: seldom run, however hot the loop."""
    if isinstance(current, (cst.ExceptHandler, cst.ExceptStarHandler)):
        return True
    if isinstance(current, cst.If) and below is current.body:
        return any(
            isinstance(n, cst.BinaryOperation) and isinstance(n.operator, cst.Modulo) for n in descendants(current.test)
        )
    return False
