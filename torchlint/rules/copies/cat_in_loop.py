"""TL108: a tensor grows by `torch.cat` from step to step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import GROWN
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.syntax.followed import Seen

_RESULT = "append the parts to a list, and concatenate them once after the loop"
_KEPT = (
    "write the new part into memory of the largest size (`torch.empty(.., longest, ..)`), and use the slice that is "
    "filled, or a ring buffer if the oldest parts are dropped"
)


class CatInLoop(Rule):
    id = "TL108"
    name = "cat-in-loop"
    summary = "A tensor grows by `torch.cat` from step to step"
    severity = Severity.INFO
    group = "advice"
    needs = ()
    layout = False
    about_steps = True
    recipe = Recipe("evaluations", "finding", "the tensor grows again and again", least=16)

    @on.form(GROWN)
    def joins(self, seen: Seen) -> None:
        """Check a function that joins what it has joined in the step before, and something new."""
        if self.module.in_test(seen.node):
            return
        import libcst as cst

        made = self.module.parent(seen.node)
        while isinstance(made, (cst.Subscript, cst.Attribute, cst.Call)):
            made = self.module.parent(made)
        name = f"`{self.module.code(made.targets[0].target)}`" if isinstance(made, cst.Assign) else "a tensor"
        self.report(
            seen.node,
            f"{name} grows by `{self.module.code(seen.node)}` {seen.event.when}, which copies all of it again: "
            + (_RESULT if seen.event.origin == "result" else _KEPT),
        )
