"""TL207: a copy is meant to be asynchronous, but its source lies in pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class NonblockingFromPageable(Rule):
    id = "TL207"
    name = "nonblocking-from-pageable"
    summary = "A copy with `non_blocking=True` cannot be asynchronous, since its source is not pinned"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = ()
    about_evaluation = True
    layout = False
    recipe = Recipe("pageable-uploads", "finding", "copies to the device from pageable memory", least=2)

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """Create the tensor of Python data in pinned memory."""
        from torchlint.rules.transfers._fixes import pin_from_the_start

        return pin_from_the_start(self.module, node)
