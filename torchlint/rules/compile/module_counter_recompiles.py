"""TL902: compiled code that is compiled again because a counter has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.traced import Traced

_SETTING = "allow_unspec_int_on_nn_module"


class ModuleCounterRecompiles(Rule):
    id = "TL902"
    name = "module-counter-recompiles"
    summary = "A counter makes `torch.compile` recompile a function in every call"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH,)
    layout = False
    recipe = Recipe("recompilations", "run", "the function is compiled again for new values of the counter", least=3)

    @on.traced
    def counts(self, traced: Traced) -> None:
        """Check a function that is compiled."""
        module = self.module
        if _SETTING in module.text:
            return
        from torchlint.rules.compile._counters import Counters

        for statement, target in module.shared(Counters).of(traced.function):
            if module.in_test(statement):
                continue
            self.report(
                statement,
                f"each new value of `{module.code(target)}` recompiles the code compiled on "
                f"{module.line_in_words(traced.compiler)}, which runs uncompiled after 8 times: count in a tensor, "
                "such as a buffer, or outside of the compiled code",
                evidence=[
                    module.evidence(traced.compiler, "this compiles the code"),
                    module.evidence(traced.root, "this function is compiled"),
                ],
            )
