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

    from torchlint.analysis.things.flags.paths import BackendFlag


class DeterministicWithoutSeed(Rule):
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
