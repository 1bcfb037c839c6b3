"""TL806: an evaluation builds autograd graphs that nothing uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import RECORDED
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.syntax.followed import Seen


class EvalWithoutNoGrad(Rule):
    id = "TL806"
    name = "eval-without-no-grad"
    summary = "An evaluation builds autograd graphs that nothing uses"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = ()
    layout = False
    about_evaluation = True
    recipe = Recipe("graphs", "finding", "the output of the model carries an autograd graph")

    @on.form(RECORDED)
    def evaluates(self, seen: Seen) -> None:
        """Check a call of a model that is not in training mode, in a step that does not train."""
        call = seen.node
        if self.module.in_test(call):
            return
        from torchlint.rules.precision._fixes import without_gradients

        model = self.module.code(call).partition("(")[0]
        self.report(
            call,
            f"nothing goes backward from `{model}` here, but autograd is on: each call builds an autograd graph and "
            "keeps its activations; evaluate under `torch.no_grad()`",
            severity=Severity.INFO if seen.event.origin == "unset" else Severity.WARNING,
            fix=without_gradients(self.module, self.module.function_of(call)),
        )
