"""TL307: distributions of torch that check their arguments on the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class DistributionValidation(Rule):
    id = "TL307"
    name = "distribution-validation"
    summary = "Distributions check their arguments on the device in every step"
    severity = Severity.INFO
    fix = "sometimes"
    layout = False
    about_steps = True
    recipe = Recipe("synchronizations", "evidence", "the distribution checks its arguments, step after step", least=2)

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """No checks."""
        from torchlint.rules.synchronization._fixes import without_validation

        return without_validation(self.module, node)
