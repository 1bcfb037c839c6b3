"""TL303: the host branches on a tensor on the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.condition import Condition
    from torchlint.analysis.things.step import Step


class TensorInControlFlow(Rule):
    id = "TL303"
    name = "tensor-in-control-flow"
    summary = "Python branches on a tensor on the device in every step"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
    about_reads = True
    recipe = Recipe(
        "synchronizations", "finding", "the condition synchronizes with the device, step after step", least=2
    )

    @on.step
    def branches(self, step: Step) -> None:
        """A loop or function that runs in every step, with the tensors that it branches on."""
        if self.module.in_test(step.place):
            return
        if not step.conditions:
            return
        from torchlint.rules.synchronization._waits import Waits, in_words

        waits = Waits(self.module, step)
        every = f"every {step.in_words}"
        for condition in step.conditions:
            advice, is_meant = self._advice(condition)
            repeats = condition.kind == "while"
            wait = None if repeats else waits.before(condition.node, condition.node)
            if wait is not None:
                advice = in_words(self.module, wait)
            urgent = step.trains and not is_meant and wait is None
            self.report(
                condition.node,
                f"{self._written(condition)} synchronizes with the GPU in {every}: {advice}",
                severity=Severity.WARNING if urgent else Severity.INFO,
                heat=Heat.STEP,
            )

    def _written(self, condition: Condition) -> str:
        code = self.module.code(condition.node)
        short = f"`{code}`" if len(code) <= 60 and "\n" not in code else "a tensor"
        if condition.kind in ("any", "max", "range"):
            return short if short != "a tensor" else "this call"
        return f"{_READERS[condition.kind]} {short}"

    def _advice(self, condition: Condition) -> tuple[str, bool]:
        """What to do instead, and whether the program may need the value at once."""
        if self._checks_finiteness(condition.node):
            return _FINITE, True
        if condition.kind == "while":
            return "check only every N iterations, or run a fixed number of them", True
        if condition.kind == "max":
            return f"use {self._elementwise(condition.node)}, which stays on the device", False
        if condition.kind == "assert":
            return "use `torch._assert_async`, or check only while debugging", False
        if condition.kind == "range":
            return "compute the number on the host", False
        return "use `torch.where`, or decide on the host every N steps", False

    def _elementwise(self, node: cst.BaseExpression) -> str:
        """The operation of torch for ``max(a, b)``, which takes no number beside a tensor."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import literal

        assert isinstance(node, cst.Call)
        largest = self.module.qualified(node.func) == "builtins.max"
        numbers = [arg.value for arg in node.args if isinstance(literal(arg.value), (int, float))]
        if len(numbers) == 1:
            return f"`.clamp({'min' if largest else 'max'}={self.module.code(numbers[0])})`"
        return "`torch.maximum`" if largest else "`torch.minimum`"

    def _checks_finiteness(self, node: cst.BaseExpression) -> bool:
        """``torch.isnan(loss)``, ``not loss.isfinite().all()``, ``loss != loss``."""
        import libcst as cst

        from torchlint.analysis.syntax.walk import descendants, wording

        compared = node.comparisons if isinstance(node, cst.Comparison) else ()
        if len(compared) == 1 and wording(node.left) == wording(compared[0].comparator):  # type: ignore[attr-defined]
            return True
        return any(isinstance(part, cst.Name) and part.value in _FINITENESS for part in descendants(node))


_FINITE = (
    "check every N steps, let `GradScaler` skip such steps, or pass `error_if_nonfinite=True` to `clip_grad_norm_`, "
    "which reads one value"
)
_FINITENESS = frozenset("isnan isinf isfinite isneginf isposinf is_finite is_nan inf nan".split())
_READERS = {"if": "branching on", "while": "looping on", "assert": "asserting", "boolean": "the truth value of"}
