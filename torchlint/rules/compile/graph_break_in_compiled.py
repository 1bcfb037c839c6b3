"""TL901: compiled code that ends its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.traced import Traced


class GraphBreakInCompiled(Rule):
    id = "TL901"
    name = "graph-break-in-compiled"
    summary = "Code under `torch.compile` causes a graph break"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH,)
    layout = False
    recipe = Recipe("graph-breaks", "run", "a graph ends at the flagged expression")

    @on.traced
    def breaks(self, traced: Traced) -> None:
        """Check a function that is compiled."""
        from torchlint.analysis.things.traced import TracedCode
        from torchlint.rules.compile._breaks import Breaks

        module, place = self.module, self.module.line_in_words(traced.compiler)
        for node, why in module.shared(Breaks).of(traced.function):
            if module.in_test(node):
                continue
            around = module.shared(TracedCode).leaves_uncompiled(node, traced.function)
            what = f"causes a graph break in the code compiled on {place}"
            if around is not None:
                name = traced.function.name.value
                what = f"causes a graph break inside {around}, so all of `{name}` (compiled on {place}) runs uncompiled"
            self.report(
                node,
                f"`{module.code(node)}` {what}, since {why.why}: {why.instead}",
                evidence=[
                    module.evidence(traced.compiler, "this compiles the code"),
                    module.evidence(traced.root, "this function is compiled"),
                ],
            )
