"""TL806: an evaluation builds autograd graphs that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Safety, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_EVALUATES = frozenset(
    "eval evaluate evaluation val valid validate validation test testing infer inference predict prediction "
    "predictions".split()
)
# Contexts and decorators that leave autograd alone.
_NEUTRAL = frozenset(
    "builtins.open builtins.staticmethod builtins.classmethod tqdm.tqdm tqdm.auto.tqdm torch.autocast torch.device "
    "torch.amp.autocast torch.cuda.amp.autocast torch.amp.autocast_mode.autocast".split()
)
# One of these in the file: autograd may be switched off for good, or parameters need no gradients.
_SETTINGS = frozenset(
    "set_grad_enabled requires_grad requires_grad_ volatile enter_context __enter__ quantization quantize_ "
    "quantize_dynamic onnxruntime".split()
)
# One of these in the function: gradients may be what the evaluation is for.
_GRADIENTS = frozenset(
    "backward grad autograd inference_mode enable_grad create_graph attack adversarial fgsm pgd saliency gradcam cam "
    "captum score langevin maml meta inner unrolled tta adapt".split()
)
_DEPTH = 5


class EvalWithoutNoGrad(Rule):
    """
    ## What it finds
    A model in evaluation mode that is called in a loop over a validation or test loader, or in a function that is
    named after evaluation, while autograd records every operation: there is no `torch.no_grad()` or
    `torch.inference_mode()` around the loop, on its function, or around any call of it.

    ## Why it costs
    `model.eval()` changes dropout and batch norm, and nothing else: autograd still builds a graph and keeps the
    activations of every layer until the output is freed. That takes memory, so that batches must be smaller than they
    could be, and time in every operation.

    ## Instead
    Flagged:

    ```python
    import torch


    def test(model, test_loader):
        model.eval()
        correct = 0
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum()
        return correct


    print(test(torch.load("model.pt"), torch.load("loader.pt")))
    ```

    Preferred:

    ```python
    import torch


    @torch.no_grad()
    def test(model, test_loader):
        model.eval()
        correct = 0
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum()
        return correct


    print(test(torch.load("model.pt"), torch.load("loader.pt")))
    ```

    ## When to leave it
    Where gradients are the point: adversarial examples, saliency maps, test-time training. The rule is silent where the
    function names anything of autograd, under decorators and context managers that it does not know, in functions
    that nothing in the file calls or that are handed on, in classes of frameworks, and in files that switch autograd
    off or say which parameters need gradients.

    ## Fix safety
    Unsafe: the results of the function no longer require gradients, which code out of sight may rely on.

    ## Confirmed by
    Outputs of the flagged call that carry an autograd graph.

    ## Sources
    - [Performance tuning guide, disable gradient calculation for validation or inference](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-gradient-calculation-for-validation-or-inference)
    - [Autograd mechanics, evaluation mode](https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval)
    """

    id = "TL806"
    name = "eval-without-no-grad"
    summary = "An evaluation builds autograd graphs that nothing uses"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (identifiers("torch"), identifiers("eval"), concepts.STEPS)
    layout = False
    recipe = Recipe("graphs", "finding", "the output of the model carries an autograd graph")

    def visit_For(self, node: cst.For) -> None:
        module = self.module
        if (
            not module.heat_analysis.iterates_batches(node.iter)
            or module.heat_analysis.trains(node)
            or module.in_test(node)
        ):
            return
        function = module.function_of(node)
        if not self._evaluates(node, function) or self._needs_gradients(function):
            return
        call = next(self._forward_passes(node, function), None)
        if call is None or not self._records(call, _DEPTH):
            return
        self.report(
            call,
            f"`{module.code(call.func)}` is in evaluation mode, but autograd is on: each call builds an autograd graph "
            "and keeps its activations; evaluate under `torch.no_grad()`",
            fix=self._decorated(function),
        )

    def _evaluates(self, loop: cst.For, function: cst.FunctionDef | None) -> bool:
        """The function or the loader says that it is not for training."""
        import libcst as cst

        named = _words(function.name.value) if function is not None else set()
        if not named.isdisjoint(_EVALUATES) and "train" not in named:
            return True
        names = self.module.within(loop.iter, cst.Name)
        return any(not _words(name.value.lower().replace("loader", "_loader")).isdisjoint(_EVALUATES) for name in names)

    def _needs_gradients(self, function: cst.FunctionDef | None) -> bool:
        import libcst as cst

        def found(place: cst.CSTNode) -> set[str]:
            return {name.value for name in self.module.within(place, cst.Name)}

        every = found(self.module.tree)
        if not every.isdisjoint(_SETTINGS):
            return True
        own = found(function) if function is not None else every
        return not _GRADIENTS.isdisjoint({word for name in own for word in (name, *_words(name))})

    def _forward_passes(self, loop: cst.For, function: cst.FunctionDef | None) -> Iterator[cst.Call]:
        """Calls in the loop of what the same function has put into evaluation mode."""
        import libcst as cst

        from torchlint.analysis.scopes.bindings import dotted
        from torchlint.analysis.syntax.calls import method, receiver

        module = self.module
        around = self.module.within(function or module.tree, cst.Call)
        switched = [call for call in around if method(call) == "eval" and not call.args]
        models = {
            dotted(receiver(call))
            for call in switched
            if module.function_of(call) is function and module.comes_before(call, loop)
        }
        calls = sorted(module.within(loop.body, cst.Call), key=module.order)
        return (call for call in calls if dotted(call.func) in models - {None} and module.function_of(call) is function)

    def _records(self, node: cst.CSTNode, depth: int) -> bool:
        """Autograd is certainly on at a node: nothing around it, and around no call of its function, says otherwise."""
        import libcst as cst

        if depth == 0:
            return False
        for around in self.module.ancestors(node):
            if isinstance(around, cst.Lambda):
                return False
            if isinstance(around, cst.With) and not all(self._is_neutral(item.item) for item in around.items):
                return False
            if isinstance(around, cst.FunctionDef):
                return self._called_recording(around, depth)
        return True

    def _called_recording(self, function: cst.FunctionDef, depth: int) -> bool:
        functions = self.module.functions
        if not all(self._is_neutral(d.decorator) for d in function.decorators) or self._is_of_framework(function):
            return False
        if functions.body(function).is_generator:
            return False
        callers = functions.callers(function)
        if callers.escapes or not callers.sites:
            return False
        return all(self._records(site.call, depth - 1) for site in callers.sites)

    def _is_of_framework(self, function: cst.FunctionDef) -> bool:
        """A method of a class with bases, which may call it in a way of their own."""
        owner = self.module.class_of(function)
        return owner is not None and bool(owner.bases)

    def _is_neutral(self, node: cst.BaseExpression) -> bool:
        import libcst as cst

        return self.module.qualified(node.func if isinstance(node, cst.Call) else node) in _NEUTRAL

    def _decorated(self, function: cst.FunctionDef | None) -> Fix | None:
        """``@torch.no_grad()`` above the function."""
        from torchlint.edit.editor import Editor, Unfixable
        from torchlint.edit.names import Speller

        if function is None or function.decorators:
            return None
        try:
            name = Speller(self.module).spell("torch.no_grad", function)
            edit = self.module.shared(Editor).insert_before(function, f"@{name.text}()")
        except Unfixable:
            return None
        caveat = "results of the function no longer require gradients"
        return Fix("decorate the function with `torch.no_grad()`", Safety.UNSAFE, (*name.edits, edit), caveat)


def _words(name: str) -> set[str]:
    return set(name.lower().strip("_").split("_"))
