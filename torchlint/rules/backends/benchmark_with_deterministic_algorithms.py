"""TL502: deterministic algorithms are required while cuDNN or Inductor autotunes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import ALGORITHMS, AUTOTUNE, BENCHMARK, Preference
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import any_of, identifier_parts, identifiers, of_library, text_pattern
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.backend_flag import Conflict


class BenchmarkWithDeterministicAlgorithms(Rule):
    """
    ## What it finds
    `torch.use_deterministic_algorithms(True)`, or `torch.set_deterministic_debug_mode`, on one path with
    `torch.backends.cudnn.benchmark = True` or with `torch.compile(..., mode="max-autotune")`; also where a called
    function sets one of them, and with Lightning's `Trainer(deterministic=True)`.

    ## Why it costs
    The call makes operations deterministic, but leaves cuDNN's flags alone: `benchmark` stays on, and may choose a
    different deterministic algorithm in the next process, so runs still differ, and every new input shape is still
    benchmarked. Inductor does no autotuning in deterministic mode, so `max-autotune` has no effect (PyTorch 2.13).

    ## Instead
    Flagged:

    ```python
    import torch


    def setup(seed):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = True
    ```

    Preferred:

    ```python
    import torch


    def setup(seed):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
    ```

    ## When to leave it
    Where results only need to agree within one process: say so in a comment. With `warn_only=True`, which reports
    nondeterministic operations instead of forbidding them, the finding is an `info`. The rule is silent in tests,
    in branches that exclude each other, and where a later assignment disables one of the two.

    ## Fix safety
    Offered only with the setting of `TL501` (`rules.benchmark-with-deterministic.prefer`): `"reproducible"` sets
    `benchmark` to False, `"fast"` deletes the call. Both are unsafe: other algorithms run.

    ## Confirmed by
    Both switches are on when convolutions run.

    ## Sources
    - [torch.use_deterministic_algorithms](https://docs.pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html)
    - [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html)
    """

    id = "TL502"
    name = "benchmark-with-deterministic-algorithms"
    summary = "Deterministic algorithms are required while cuDNN or Inductor autotunes"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (
        identifier_parts("torch", "trainer", "fabric"),
        any_of(
            identifiers("Trainer Fabric autotune"),
            identifier_parts("use_deterministic_algorithms", "set_deterministic"),
            of_library(["benchmark"]),
            text_pattern(r"benchmark\w{0,80}(?:[ \t]*[=(\"']|[ \t]+(?:as|import)\b)", identifier_parts("benchmark")),
        ),
    )
    Options = Preference
    options_of = "benchmark-with-deterministic"  # one option for both rules
    layout = False
    recipe = Recipe(
        "convolution-flags",
        "run",
        "a convolution runs while both are on",
        flags=(("benchmark", True), ("algorithms", True)),
    )

    @on.flags_together(ALGORITHMS, BENCHMARK)
    def benchmarks(self, conflict: Conflict) -> None:
        """Check deterministic algorithms together with cuDNN's benchmark."""
        self._report(
            conflict,
            "cuDNN still benchmarks, and may choose a different deterministic algorithm in the next process: set "
            "`torch.backends.cudnn.benchmark = False` for reproducible runs, or remove the deterministic setting "
            "for speed",
        )

    @on.flags_together(ALGORITHMS, AUTOTUNE)
    def autotunes(self, conflict: Conflict) -> None:
        """Check deterministic algorithms together with Inductor's autotuning."""
        self._report(
            conflict,
            "Inductor does no autotuning in deterministic mode, so `max-autotune` has no effect: remove one of them",
        )

    def _report(self, conflict: Conflict, consequence: str) -> None:
        from torchlint.rules.backends._fixes import resolve_conflict
        from torchlint.rules.backends._intended import is_intended
        from torchlint.rules.backends._locations import in_file, location

        earlier, later = conflict.earlier, conflict.later
        if is_intended(self.module, conflict) or (earlier.node is later.node and earlier.other_file is None):
            return  # TL501 reports calls that set both
        self.report(
            later.node,
            f"{_switch(later.name)} is enabled here{in_file(self.module, later)}, and {_switch(earlier.name)} has been "
            f"enabled since {location(self.module, earlier)}: {consequence}",
            evidence=[self.module.evidence(earlier.node, f"{_switch(earlier.name)} is enabled here")],
            severity=Severity.INFO if conflict.warn_only else Severity.WARNING,
            fix=resolve_conflict(self.module, conflict, self.options.prefer),
        )


def _switch(flag: str) -> str:
    return f"`{flag.removeprefix('torch.backends.cudnn.').removeprefix('torch.').removeprefix('compile.')}`"
