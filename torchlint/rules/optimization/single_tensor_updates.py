"""TL602: tensors are updated one by one where PyTorch can update all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.portability import OTHER_ACCELERATORS
from torchlint.knowledge.training import MULTI_TENSOR, MULTI_TENSOR_AVERAGES, MULTI_TENSOR_DEFAULT
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.optimization._gradients import Update


class SingleTensorUpdates(Rule):
    id = "TL602"
    name = "single-tensor-updates"
    summary = "Parameters or gradients are updated one by one instead of together"
    severity = Severity.INFO
    programs = ("training",)
    fix = "sometimes"
    needs = (concepts.TORCH,)
    layout = False
    recipe = Recipe("evaluations", "finding", "the tensors are updated one by one")

    @on.call(*MULTI_TENSOR)
    @on.within("foreach")
    def opts_out(self, node: cst.Call) -> None:
        """Check ``foreach=False``."""
        from torchlint.analysis.syntax.calls import keyword, literal

        given = keyword(node, "foreach")
        others = [keyword(node, name) for name in ("fused", "differentiable")]
        if (
            given is None
            or literal(given) is not False
            or any(o is not None and literal(o) is not False for o in others)
        ):
            return
        if self.module.in_test(node) or not self.module.has_torch(MULTI_TENSOR_DEFAULT):
            return
        if self._is_for_another_device(node):
            return
        if any(word in self.module.comments(*self.module.statement_lines(node)).lower() for word in _MEMORY):
            return
        from torchlint.rules.optimization._fixes import without_opt_out

        self.report(
            given,
            f"`foreach=False` makes `{self.module.code(node.func)}` handle tensors one by one, with several kernels "
            "for each: leave it out, so that they are handled together where that is supported",
            fix=without_opt_out(self.module, given),
        )

    def _is_for_another_device(self, node: cst.Call) -> bool:
        """Whether a condition names an accelerator other than CUDA, which may lack the functions for many tensors."""
        tests = (guard.condition for guard in self.module.guards(node) if guard.condition is not None)
        return any(name in self.module.code(test) for test in tests for name in OTHER_ACCELERATORS)

    @on.within("zip", "grad")
    @on.within("clamp_", "clip_", "mul_", "div_", "lerp_", "copy_")
    def visit_For(self, node: cst.For) -> None:
        """Check a loop over parameters."""
        if self.module.in_test(node) or not self.module.has_torch(MULTI_TENSOR_AVERAGES):
            return
        from torchlint.rules.optimization._gradients import Gradients

        update = self.module.shared(Gradients).update(node)
        if update is not None:
            self.report(node.iter, self._message(update), heat=Heat.STEP)

    def _message(self, update: Update) -> str:
        if update.what == "average":
            what, advice = (
                "averages parameters",
                "`AveragedModel` with `get_ema_multi_avg_fn`, or `torch._foreach_lerp_`",
            )
        elif update.verb in ("clamp_", "clip_"):
            what, advice = "clamps gradients", "`torch.nn.utils.clip_grad_value_`"
        else:
            what, advice = "scales gradients", f"`torch._foreach_{update.verb}`"
        return (
            f"this loop {what} one by one in every step, with at least one kernel for each: {advice} updates all "
            "together"
        )


_MEMORY = ("memory", "oom", "vram")
