"""Module calls: forward passes of models, the mode of the model, and whether autograd records them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method, receiver

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Context managers and decorators that do not change the grad mode.
_WITHOUT_EFFECT_ON_GRADIENTS = frozenset(
    "builtins.open builtins.staticmethod builtins.classmethod tqdm.tqdm tqdm.auto.tqdm torch.autocast torch.device "
    "torch.amp.autocast torch.cuda.amp.autocast torch.amp.autocast_mode.autocast".split()
)
_DEPTH = 5


class ModuleCall:
    """A call of a model: one forward pass."""

    def __init__(self, module: SourceModule, call: cst.Call) -> None:
        self._module = module
        self.call = call

    @property
    def records_graph(self) -> bool:
        """Whether autograd certainly records the call: no context around it or its callers disables gradients."""
        return self._records(self.call, _DEPTH)

    def _records(self, node: cst.CSTNode, depth: int) -> bool:
        if depth == 0:
            return False
        for around in self._module.ancestors(node):
            if isinstance(around, cst.Lambda):
                return False
            if isinstance(around, cst.With) and not all(self._keeps_grad_mode(item.item) for item in around.items):
                return False
            if isinstance(around, cst.FunctionDef):
                return self._callers_record(around, depth)
        return True

    def _callers_record(self, function: cst.FunctionDef, depth: int) -> bool:
        functions = self._module.functions
        if not all(self._keeps_grad_mode(d.decorator) for d in function.decorators):
            return False
        if self._module.heat_analysis.trains(function):
            return True  # without gradients it could not train, whatever calls it
        if self._is_framework_method(function):
            return False
        if functions.body(function).is_generator:
            return False
        callers = functions.callers(function)
        if callers.escapes or not callers.sites:
            return False
        return all(self._records(site.call, depth - 1) for site in callers.sites)

    def _is_framework_method(self, function: cst.FunctionDef) -> bool:
        """Whether a function is a method of a class with bases, which a framework may call under ``no_grad``."""
        owner = self._module.class_of(function)
        bases = owner.bases if owner is not None else ()
        return any(self._module.qualified(base.value) != "builtins.object" for base in bases)

    def _keeps_grad_mode(self, node: cst.BaseExpression) -> bool:
        return self._module.qualified(node.func if isinstance(node, cst.Call) else node) in _WITHOUT_EFFECT_ON_GRADIENTS


class ModuleCalls:
    """The calls of models in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def in_evaluation_mode(self, loop: cst.For | cst.While) -> list[ModuleCall]:
        """The calls in a loop of models that the same function has put into evaluation mode before, in source order."""
        function = self._module.function_of(loop)
        around = self._module.within(function or self._module.tree, cst.Call)
        switched = [call for call in around if method(call) == "eval" and not call.args and self._is_of(call, function)]
        models = {dotted(receiver(call)) for call in switched if self._module.comes_before(call, loop)} - {None}
        calls = [call for call in self._module.within(loop.body, cst.Call) if dotted(call.func) in models]
        own = sorted((call for call in calls if self._is_of(call, function)), key=self._module.order)
        return [ModuleCall(self._module, call) for call in own]

    def _is_of(self, call: cst.Call, function: cst.FunctionDef | None) -> bool:
        return self._module.function_of(call) is function
