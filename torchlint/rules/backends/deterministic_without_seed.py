"""TL505: deterministic kernels are enabled, but nothing is seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import ALGORITHMS, DETERMINISTIC, SEED_WORDS
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.flag_paths import BackendFlag


class DeterministicWithoutSeed(Rule):
    """
    ## What it finds
    `torch.backends.cudnn.deterministic = True` or `torch.use_deterministic_algorithms(True)` in a program that
    trains, where neither the file nor any other file of the run seeds random numbers.

    ## Why it costs
    Deterministic algorithms are slower (1.54 s against 3.67 s for one transposed convolution, espnet/espnet#3041).
    Without a seed, initial weights, shuffling and dropout differ from run to run anyway, so nothing is gained.

    ## Instead
    Flagged:

    ```python
    import torch

    torch.backends.cudnn.deterministic = True
    model = torch.nn.Linear(8, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        optimizer.zero_grad()
        model(torch.randn(4, 8).cuda()).sum().backward()
        optimizer.step()
    ```

    Preferred:

    ```python
    import torch

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    model = torch.nn.Linear(8, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        optimizer.zero_grad()
        model(torch.randn(4, 8).cuda()).sum().backward()
        optimizer.step()
    ```

    ## When to leave it
    Where a launcher sets the seed, or determinism is enabled to find a race condition. The rule is silent in
    libraries, in code that only evaluates, in functions that are called after seeding, and whenever the file
    imports modules that are not part of the run.

    ## Fix safety
    No fix is offered: a seed changes the random numbers.

    ## Confirmed by
    The first loss differs between two processes.

    ## Sources
    - [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html)
    - [espnet/espnet#3041](https://github.com/espnet/espnet/issues/3041)
    """

    id = "TL505"
    name = "deterministic-without-seed"
    summary = "Deterministic kernels are enabled, but nothing is seeded"
    severity = Severity.INFO
    programs = ("training",)
    needs = (identifiers("backward step"),)
    layout = False
    recipe = Recipe("unseeded", "run", "determinism is on, layers run, and torch was never seeded")

    @on.flag(DETERMINISTIC, ALGORITHMS, value=True)
    def deterministic(self, flag: BackendFlag) -> None:
        """Check a write that leaves determinism on."""
        from torchlint.rules.backends._tuning import Tuning

        if self.module.in_test_function(flag.node) or self._in_seeding(flag.node):
            return
        if not self.module.shared(Tuning).unseeded:
            return
        self.report(
            flag.node,
            "deterministic kernels are slower, and no random seed is set, so runs differ anyway: call "
            "`torch.manual_seed` first, or remove the deterministic setting",
        )

    def _in_seeding(self, node: cst.CSTNode) -> bool:
        """Whether the enclosing function is named after seeding."""
        function = self.module.function_of(node)
        return function is not None and not SEED_WORDS.isdisjoint(function.name.value.lower().split("_"))
