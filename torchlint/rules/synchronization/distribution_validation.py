"""TL307: distributions of torch that check their arguments on the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.synchronization import CHECKING_ANYWAY, DISTRIBUTIONS
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class DistributionValidation(Rule):
    id = "TL307"
    name = "distribution-validation"
    summary = "Distributions check their arguments on the device in every step"
    severity = Severity.INFO
    fix = "sometimes"
    needs = (concepts.ON_ACCELERATOR, concepts.HOT)
    layout = False
    recipe = Recipe("synchronizations", "evidence", "the distribution checks its arguments, step after step", least=2)

    @on.call(*DISTRIBUTIONS)
    def constructs(self, node: cst.Call) -> None:
        """Check a call that constructs a distribution."""
        module = self.module
        if not self._repeats(node):
            return
        from torchlint.analysis.syntax.calls import method
        from torchlint.rules.synchronization._distributions import checking_uses, checks_on_device

        if not checks_on_device(module, node):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.synchronization._fixes import without_validation

        uses = checking_uses(module, node)
        step = module.shared(Steps).around(node).in_words
        more = f" (and `{method(uses[0])}` its argument)" if uses else ""
        anyway = (module.qualified(node.func) or "").rpartition(".")[2] in CHECKING_ANYWAY
        self.report(
            node,
            f"{self._written(node)} checks its parameters{more} on the GPU in every {step}, and the host waits for the "
            f"result: {_CALL if anyway else '`validate_args=False`'} turns this off once the model works",
            evidence=[module.evidence(use, f"`{method(use)}` checks its argument") for use in uses],
            cause="distributions that check their arguments",
            heat=Heat.STEP,
            fix=None if anyway else without_validation(module, node),
        )

    @on.call("torch.normal")
    def draws(self, node: cst.Call) -> None:
        """Check a call of ``torch.normal``."""
        if not self._repeats(node):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.synchronization._distributions import checks_deviations

        if checks_deviations(self.module, node):
            step = self.module.shared(Steps).around(node).in_words
            self.report(
                node,
                f"{self._written(node)} checks its standard deviations on the GPU in every {step}, and the host waits "
                "twice for the result: `mean + std * torch.randn_like(std)` draws the same numbers without a check",
                heat=Heat.STEP,
            )

    def _repeats(self, node: cst.Call) -> bool:
        """Whether a call runs in every step of code that uses an accelerator."""
        often = self.module.heat(node).rank >= Heat.STEP.rank and not self.module.in_test(node)
        return often and self.module.device_evidence.on_accelerator

    def _written(self, node: cst.Call) -> str:
        code = self.module.code(node)
        return f"`{code}`" if len(code) <= 60 and "\n" not in code else f"`{self.module.code(node.func)}(...)`"


_CALL = "`torch.distributions.Distribution.set_default_validate_args(False)`"
