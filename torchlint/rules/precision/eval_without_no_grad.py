"""TL806: an evaluation builds autograd graphs that nothing uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import FACTORIES
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.step import Step

_EVALUATION_WORDS = frozenset(
    "eval evaluate evaluation val valid validate validation test testing infer inference predict prediction "
    "predictions".split()
)
# With one of these in the file, autograd may be disabled globally, or parameters may not require gradients.
_GLOBAL_SETTINGS = frozenset(
    "set_grad_enabled requires_grad_ volatile enter_context __enter__ quantization quantize_ "
    "quantize_dynamic onnxruntime".split()
)
# With one of these in the function, the evaluation may need gradients.
_GRADIENT_WORDS = frozenset(
    "backward grad autograd inference_mode enable_grad create_graph attack adversarial fgsm pgd saliency gradcam cam "
    "captum score langevin maml meta inner unrolled tta adapt".split()
)
# What these construct are inputs, not parameters.
_TENSOR_CONSTRUCTORS = FACTORIES | {"torch.autograd.Variable", "torch.autograd.variable.Variable"}


class EvalWithoutNoGrad(Rule):
    id = "TL806"
    name = "eval-without-no-grad"
    summary = "An evaluation builds autograd graphs that nothing uses"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, of_library(["eval"]))
    layout = False
    about_evaluation = True
    recipe = Recipe("graphs", "finding", "the output of the model carries an autograd graph")

    @on.step
    def evaluates(self, step: Step) -> None:
        """Check a loop that calls a model in evaluation mode and does not train."""
        import libcst as cst

        from torchlint.analysis.things.module_call import ModuleCalls

        loop = step.place
        if not isinstance(loop, cst.For) or not step.iterates_batches or step.trains or self.module.in_test(loop):
            return
        function = self.module.function_of(loop)
        if not self._is_evaluation(loop, function) or self._needs_gradients(loop, function):
            return
        found = next(iter(self.module.shared(ModuleCalls).in_evaluation_mode(loop)), None)
        if found is None or not found.records_graph:
            return
        from torchlint.rules.precision._fixes import without_gradients

        self.report(
            found.call,
            f"`{self.module.code(found.call.func)}` is in evaluation mode, but autograd is on: each call builds an "
            "autograd graph and keeps its activations; evaluate under `torch.no_grad()`",
            fix=without_gradients(self.module, function),
        )

    def _is_evaluation(self, loop: cst.For, function: cst.FunctionDef | None) -> bool:
        """Whether the name of the function or of the loader says that the loop evaluates."""
        import libcst as cst

        named = _words(function.name.value) if function is not None else set()
        if not named.isdisjoint(_EVALUATION_WORDS) and "train" not in named:
            return True
        names = [name.value.lower().replace("loader", "_loader") for name in self.module.within(loop.iter, cst.Name)]
        return any(not _words(name).isdisjoint(_EVALUATION_WORDS) for name in names)

    def _needs_gradients(self, loop: cst.For, function: cst.FunctionDef | None) -> bool:
        """Whether autograd may be off or in use: anything around the loop but other loops, which train, names it."""
        import libcst as cst

        every = {name.value for name in self.module.within(self.module.tree, cst.Name)}
        if not every.isdisjoint(_GLOBAL_SETTINGS) or any(map(self._sets, self.module.names_spelled("requires_grad"))):
            return True
        place = function or self.module.tree
        inputs = {name for name in self.module.names_spelled("requires_grad") if self._is_of_input(name)}
        names = (name for name in self.module.within(place, cst.Name) if name not in inputs)
        own = (name.value for name in names if not self._in_training_loop(name, loop))
        return not _GRADIENT_WORDS.isdisjoint({word for name in own for word in (name, *_words(name))})

    def _in_training_loop(self, name: cst.Name, loop: cst.For) -> bool:
        """Whether a name is in a loop that trains, and that the evaluation is not a part of."""
        import libcst as cst

        around = set(self.module.ancestors(loop))
        others = (a for a in self.module.ancestors(name) if isinstance(a, cst.For) and a not in around)
        return any(self.module.heat_analysis.trains(other) for other in others)

    def _sets(self, name: cst.Name) -> bool:
        """Whether ``requires_grad`` is set, rather than read, or passed to a constructor of tensors."""
        import libcst as cst

        parent = self.module.parent(name)
        if isinstance(parent, cst.Attribute):
            return isinstance(self.module.parent(parent), (cst.AssignTarget, cst.AnnAssign, cst.AugAssign))
        return not self._is_of_input(name)

    def _is_of_input(self, name: cst.Name) -> bool:
        """Whether this is ``requires_grad=False`` in a call that constructs a tensor."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import keyword, literal

        parent = self.module.parent(name)
        call = self.module.parent(parent) if isinstance(parent, cst.Arg) and parent.keyword is name else None
        if not isinstance(call, cst.Call) or literal(keyword(call, "requires_grad")) is not False:
            return False
        return self.module.qualified(call.func) in _TENSOR_CONSTRUCTORS


def _words(name: str) -> set[str]:
    return set(name.lower().strip("_").split("_"))
