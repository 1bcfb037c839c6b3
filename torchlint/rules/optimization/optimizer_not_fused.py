"""TL603: Adam on a GPU without its fused implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.optimizers import FUSED, IMPLEMENTATION_ARGUMENTS
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    import libcst as cst

# Frameworks that shard or replace the parameters, or run the update themselves.
_OTHER_UPDATES = identifier_parts("fsdp", "fullyshard", "fully_shard", "deepspeed", "apex", "xla")


class OptimizerNotFused(Rule):
    """
    ## What it finds
    `torch.optim.Adam` or `AdamW` without `fused=True`, for parameters of modules that the file moves to a GPU. The rule
    is off by default.

    ## Why it costs
    By default, an update on a GPU consists of operations on lists of tensors, 9 for Adam and 10 for AdamW, most of
    which read and write as many numbers as there are parameters; with `fused=True` it consists of 2 (counted in torch
    2.13). With a `GradScaler`, the default also makes the host wait in every step to learn whether the gradients are
    finite, which the fused update checks on the device. In DPA-2, updates went from 22 to 8 ms, and steps were 3 %
    faster (deepmodeling/deepmd-kit#4463); Llama 3 8B in torchtitan gained 2.6 % on average (pytorch/torchtitan#842). On
    one CPU core, where the default is a loop over tensors, an update of 50 linear layers with 128 x 128 weights took 43
    ms, and 2.3 ms fused (torch 2.13).

    ## Instead
    Flagged:

    ```python
    import torch

    model = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    ```

    Preferred:

    ```python
    import torch

    model = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    ```

    ## When to leave it
    Where the update is a small part of the step. Some users report no gain, or a loss (pytorch/pytorch#121857), and
    PyTorch does not use it by default.

    The rule is silent where the call chooses an implementation (`foreach`, `capturable`, `differentiable`), where some
    parameters may be on another device, where the target version of torch (`target-torch`) lacks the fused
    implementation, for SGD and Adagrad, whose fused updates are slower in some measurements (pytorch/pytorch#129350),
    and in files that use FSDP, DeepSpeed, Apex or XLA.

    ## Fix safety
    Adding `fused=True` is unsafe: it raises an error for parameters without a floating-point dtype, or on a device
    without a fused implementation (the CPU has one since torch 2.4), and results differ by rounding (by 4.5e-8 at most
    after 44 steps).

    ## Confirmed by
    Calls of the implementations that are not fused, in the steps of the optimizer.

    ## Sources
    - [`torch.optim.Adam`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html)
    - `torch/optim/adam.py` and `torch/amp/grad_scaler.py` in torch 2.13
    - [deepmodeling/deepmd-kit#4463](https://github.com/deepmodeling/deepmd-kit/pull/4463)
    - [pytorch/torchtitan#842](https://github.com/pytorch/torchtitan/issues/842)
    - [pytorch/pytorch#121857](https://github.com/pytorch/pytorch/issues/121857)
    """

    id = "TL603"
    name = "optimizer-not-fused"
    summary = "Adam updates parameters on a GPU without its fused implementation"
    severity = Severity.INFO
    programs = ("training",)
    default = False
    fix = "sometimes"
    needs = (concepts.MOVE,)
    layout = False
    recipe = Recipe(
        "function-calls",
        "evidence",
        "the optimizer makes its steps without the fused implementation",
        functions=("torch.optim.adam._multi_tensor_adam", "torch.optim.adam._single_tensor_adam"),
    )

    @on.call(*FUSED)
    def check(self, node: cst.Call) -> None:
        """Check the construction of an optimizer."""
        if not self._may_be_fused(node) or self.module.in_test(node):
            return
        from torchlint.rules.optimization._fixes import fused
        from torchlint.rules.optimization._parameters import OptimizedParameters

        steps = self.module.shared(OptimizedParameters).steps(node)
        self.report(
            node,
            f"`{self.module.code(node.func)}` updates the parameters on the GPU in several passes{_wait(steps)}: pass "
            "`fused=True`, which makes one",
            evidence=[self.module.evidence(step, "the optimizer makes a step") for step in steps],
            heat=Heat.ONCE,
            fix=fused(self.module, node),
        )

    def _may_be_fused(self, call: cst.Call) -> bool:
        """Whether the fused implementation works for all parameters, and the call chooses none."""
        from torchlint.analysis.syntax.calls import is_opaque, keyword
        from torchlint.analysis.values.lattice import Device
        from torchlint.rules.optimization._parameters import OptimizedParameters

        if is_opaque(call) or any(keyword(call, name) is not None for name in IMPLEMENTATION_ARGUMENTS):
            return False
        if self.module.text_index.has(_OTHER_UPDATES):
            return False
        since = FUSED[str(self.module.qualified(call.func))]
        device = self.module.shared(OptimizedParameters).device(call)
        if device is Device.VARIABLE:  # it may be the CPU
            return self.module.has_torch(since.cpu)
        return device is Device.CUDA and self.module.has_torch(since.cuda)


def _wait(steps: Iterable[cst.Call]) -> str:
    """What the message says of ``scaler.step(optimizer)``."""
    scaled = any(step.args and step.args[0].keyword is None for step in steps)
    return ", and `GradScaler` waits for the device in every step" if scaled else ""
