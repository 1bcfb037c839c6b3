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
    """
    ## What it finds
    Loops over parameters, in every step, that only average each of them with that of another model
    (`t.mul_(d).add_(p, alpha=1 - d)`, `t.lerp_(p, w)`, `t.copy_(tau * p + (1 - tau) * t)`), or that only scale or clamp
    each gradient. Also `foreach=False` of optimizers and of `clip_grad_norm_`, which turns off the update of all
    tensors together.

    ## Why it costs
    Each operation on each parameter is a kernel of its own, and most parameters are so small that launching it takes
    most of the time. The `foreach` functions update all tensors with a few kernels. Optimizers and `clip_grad_norm_`
    use them by default since torch 2.0, where all tensors are on a device that supports it. On a CPU, where they only
    save Python and dispatch overhead, averaging 300 tensors of 64 numbers took 1.39 ms in a loop, and 0.25 ms by
    `torch._foreach_lerp_` (torch 2.13). On an H200, ten averages of 200 tensors of 64 numbers took 33 ms in a loop, and
    4.9 ms by `foreach` functions.

    ## Instead
    Flagged:

    ```python
    import torch


    def optimizer_of(model):
        return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    ```

    Preferred:

    ```python
    import torch


    def optimizer_of(model):
        return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=None)
    ```

    `foreach=None` is the default, so the argument can also be left out. For averages of parameters, there is
    `torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))` with its method
    `update_parameters`, or, without a new object, `torch._foreach_lerp_(list(average.parameters()),
    list(model.parameters()), 0.001)`. `torch.nn.utils.clip_grad_value_` clamps all gradients.

    ## When to leave it
    Where memory is short: the `foreach` functions need up to the size of all parameters for intermediate results. Where
    the model has only a handful of parameters, nothing is gained.

    The rule is silent where a comment at `foreach=False` mentions memory, with `fused` or `differentiable`, where a
    condition names another accelerator such as an NPU, in loops that do anything else, under conditions that hold every
    N steps, and where the project supports versions of torch that lack these functions (`target-torch`).

    ## Fix safety
    The fix replaces `foreach=False` by `foreach=None`, the default. It is unsafe: more memory is needed, and results
    may be rounded differently. Loops are not rewritten.

    ## Confirmed by
    Evaluations of the flagged code.

    ## Sources
    - [`torch.optim`, algorithms: for-loop, foreach and fused implementations](https://docs.pytorch.org/docs/stable/optim.html#algorithms)
    - [`torch.optim.swa_utils.AveragedModel`](https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html)
    - `torch/optim/optimizer.py` of torch 2.13, `_default_to_fused_or_foreach`
    - [pytorch/pytorch#95415](https://github.com/pytorch/pytorch/pull/95415)
    """

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
        from torchlint.rules.optimization._gradients import Gradients

        if self.module.in_test(node) or not self.module.has_torch(MULTI_TENSOR_AVERAGES):
            return
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
