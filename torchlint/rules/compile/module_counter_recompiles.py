"""TL902: compiled code that is compiled again because a counter has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_SETTING = "allow_unspec_int_on_nn_module"


class ModuleCounterRecompiles(Rule):
    id = "TL902"
    name = "module-counter-recompiles"
    summary = "A counter makes `torch.compile` recompile a function in every call"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH, of_library(["compile"]))
    layout = False
    recipe = Recipe("recompilations", "run", "the function is compiled again for new values of the counter", least=3)

    def visit_Module(self, _: cst.Module) -> None:
        """Check the compiled functions of the file."""
        from torchlint.rules.compile._counters import Counters

        module = self.module
        if _SETTING in module.text:
            return
        for counter in module.shared(Counters).all():
            if module.in_test(counter.statement):
                continue
            traced = counter.traced
            self.report(
                counter.statement,
                f"each new value of `{module.code(counter.target)}` recompiles the code compiled on "
                f"{module.line_in_words(traced.compiler)}, which runs uncompiled after 8 times: count in a tensor, "
                "such as a buffer, or outside of the compiled code",
                evidence=[
                    module.evidence(traced.compiler, "this compiles the code"),
                    module.evidence(traced.root, "this function is compiled"),
                ],
            )
