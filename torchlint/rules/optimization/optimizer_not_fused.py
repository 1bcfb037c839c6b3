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
