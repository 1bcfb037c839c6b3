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
    """
    ## What it finds
    A distribution of `torch.distributions` that every step constructs from device tensors and that checks its
    arguments, which is the default: neither `validate_args=False` nor `Distribution.set_default_validate_args(False)`
    turns it off. Also `torch.normal` with a device tensor of standard deviations. `sync-in-hot-loop` says which tensors
    count as being on the device.

    ## Why it costs
    Unless Python runs with `-O`, distributions check each parameter when they are constructed, and each value passed to
    `log_prob` and `cdf`. Every check reads its result from the device: the host blocks until all queued work has
    finished, and the device then idles until the host has queued more. `Normal(mean, std)` reads twice, and its
    `log_prob` once more. `torch.normal` checks twice that no deviation is negative, which cannot be turned off;
    `sample` of a normal distribution calls it.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(policy, loader, optimizer, device):
        policy.to(device)
        for states, actions in loader:
            mean = policy(states.to(device))
            chosen = torch.distributions.Normal(mean, 1.0)
            loss = -chosen.log_prob(actions.to(device)).mean()
            loss.backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import torch


    def train(policy, loader, optimizer, device):
        policy.to(device)
        for states, actions in loader:
            mean = policy(states.to(device))
            chosen = torch.distributions.Normal(mean, 1.0, validate_args=False)
            loss = -chosen.log_prob(actions.to(device)).mean()
            loss.backward()
            optimizer.step()
    ```

    `torch.distributions.Distribution.set_default_validate_args(False)`, once at the start of the program, does the same
    for all distributions. It is the only way for those that do not pass `validate_args` on to the distributions they
    are built from (`OneHotCategorical`, `Multinomial`, `StudentT` and the relaxed ones).
    `mean + std * torch.randn_like(std)` draws the same numbers as `torch.normal(mean, std)`, from the same state of the
    generator, and `rsample().detach()` the same as `sample` of a normal distribution.

    ## When to leave it
    While a model is being developed: the checks report parameters that are `NaN`, deviations that are not positive and
    values outside of the support. All findings are `info`.

    The rule is silent where this file or another file of the run sets the default; in files that call `torch.compile`,
    which sets it to `False` for the whole process (torch 2.13, `torch/_dynamo/eval_frame.py`); where `validate_args` is
    passed, for parameters on the CPU, in compiled code, under conditions that hold only every N steps, in tests, and
    for code that runs once or once per epoch.

    ## Fix safety
    The fix is unsafe: invalid parameters and values no longer raise an error. Other results do not change. There is no
    fix for distributions that only the default can keep from checking, nor for `torch.normal`.

    ## Confirmed by
    Synchronizations at the constructor in each step. On the simulated device (torch 2.13), a step of the first loop
    above waits three times (for `loc`, `scale` and the argument of `log_prob`), and a step of the second one never.
    `torch.normal` with a tensor of deviations waits twice (`CHECK_NORMAL_TENSOR_STD` in ATen's
    `DistributionTemplates.h`). On the CPU, it gives the same bits as the formula above, and `sample` the same as
    `rsample`. Only a GPU can show how long a wait is.

    ## Sources
    - [torch.distributions, set_default_validate_args](https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.distribution.Distribution.set_default_validate_args)
    - [pytorch/pytorch#48743](https://github.com/pytorch/pytorch/pull/48743), [Toni-SM/skrl#233](https://github.com/Toni-SM/skrl/pull/233)
    """

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
