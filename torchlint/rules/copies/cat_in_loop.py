"""TL108: a tensor grows by `torch.cat` in each round of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import JOINING
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_JOINING = tuple(sorted(JOINING - {"torch.stack"}))


# Only its loop tells a tensor that grows from the many others that models join. So 69 of timm's 304 files are parsed
# for this rule, 40 of them for it alone, which makes 7 % of the calls of Python functions in a cold run. What it finds
# is worth that: copying all earlier parts in every round takes quadratic time.
class CatInLoop(Rule):
    id = "TL108"
    name = "cat-in-loop"
    summary = "A tensor grows by `torch.cat` in every iteration of a loop"
    severity = Severity.INFO
    group = "advice"
    layout = False
    recipe = Recipe("evaluations", "finding", "the tensor grows again and again", least=16)

    @on.call(*_JOINING)
    @on.within("for", "while")
    def joins(self, node: cst.Call) -> None:
        """Check a concatenation."""
        from torchlint.rules.copies._growth import Growths

        module = self.module
        growth = None if module.in_test(node) else module.shared(Growths).of(node)
        if growth is None:
            return
        name = growth.name.value
        self.report(
            node,
            f"`{name}` grows by `{module.code(node.func)}` in every iteration, which copies all of it again: append "
            "the parts to a list, and concatenate them once after the loop",
            severity=Severity.WARNING if growth.long else Severity.INFO,
        )
