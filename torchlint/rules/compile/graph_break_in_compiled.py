"""TL901: compiled code that ends its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.compile._breaks import Found


class GraphBreakInCompiled(Rule):
    id = "TL901"
    name = "graph-break-in-compiled"
    summary = "Code under `torch.compile` causes a graph break"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH, of_library(["compile"]))
    layout = False
    recipe = Recipe("graph-breaks", "run", "a graph ends at the flagged expression")

    def visit_Module(self, _: cst.Module) -> None:
        """Check the compiled functions of the file."""
        from torchlint.rules.compile._breaks import Breaks

        for found in self.module.shared(Breaks).all():
            if not self.module.in_test(found.node):
                self._found(found)

    def _found(self, found: Found) -> None:
        from torchlint.analysis.things.traced import TracedCode

        module, traced = self.module, found.traced
        place = module.line_in_words(traced.compiler)
        around = module.shared(TracedCode).leaves_uncompiled(found.node, traced.function)
        what = f"causes a graph break in the code compiled on {place}"
        if around is not None:
            name = traced.function.name.value
            what = f"causes a graph break inside {around}, so all of `{name}` (compiled on {place}) runs uncompiled"
        self.report(
            found.node,
            f"`{module.code(found.node)}` {what}, since {found.why.why}: {found.why.instead}",
            evidence=[
                module.evidence(traced.compiler, "this compiles the code"),
                module.evidence(traced.root, "this function is compiled"),
            ],
        )
