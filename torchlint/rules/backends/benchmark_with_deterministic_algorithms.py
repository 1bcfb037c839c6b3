"""TL502: deterministic algorithms are required while cuDNN or Inductor autotunes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import ALGORITHMS, AUTOTUNE, BENCHMARK, Preference
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import any_of, identifier_parts, identifiers, of_library, text_pattern
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.flags.backend_flag import Conflict


class BenchmarkWithDeterministicAlgorithms(Rule):
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
