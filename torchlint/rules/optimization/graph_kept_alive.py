"""TL607: losses are added up or listed together with their autograd graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.step import Step
    from torchlint.rules.optimization._accumulated import KeptGraph


class GraphKeptAlive(Rule):
    id = "TL607"
    name = "graph-kept-alive"
    summary = "Losses are added up together with their autograd graphs"
    severity = Severity.WARNING
    group = "preview"
    programs = ("training",)
    fix = "sometimes"
    needs = (concepts.BACKWARD,)
    layout = False
    recipe = Recipe("graphs", "finding", "the loss carries an autograd graph when it is kept")

    @on.step
    def accumulates(self, step: Step) -> None:
        """Check a loop that makes a step in each iteration."""
        import libcst as cst

        loop = step.place
        if not isinstance(loop, (cst.For, cst.While)) or self.module.in_test(loop):
            return
        from torchlint.rules.optimization._accumulated import KeptGraphs

        for kept in self.module.shared(KeptGraphs).of(loop):
            from torchlint.rules.optimization._fixes import detached

            self.report(
                kept.loss,
                self._message(kept),
                severity=Severity.INFO if kept.until_reset else Severity.WARNING,
                heat=Heat.STEP,
                fix=detached(self.module, kept),
            )

    def _message(self, kept: KeptGraph) -> str:
        name = kept.accumulator.value
        loss = self.module.code(kept.loss)
        verb = "collects" if kept.listed else "adds up"
        until = f"until `{name}` is reset" if kept.until_reset else f"as long as `{name}` lives"
        instead = f"`{loss}.detach()`" if "\n" not in loss and len(loss) <= 40 else "`.detach()`"
        return (
            f"`{name}` {verb} losses together with their autograd graphs, so the graph of every step stays in "
            f"memory {until}: use {instead}"
        )
