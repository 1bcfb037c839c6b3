"""TL302: the host synchronizes with the device once per parameter, sample or element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class PerElementSync(Rule):
    id = "TL302"
    name = "per-element-sync"
    summary = "The host synchronizes with the device once per parameter, sample or element"
    severity = Severity.INFO
    layout = False
    fix = "sometimes"
    about_steps = True
    recipe = Recipe(
        "synchronizations", "finding", "more than ten synchronizations at the line in each step", least=10, each="step"
    )

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """One read in place of those of a loop."""
        from torchlint.rules.synchronization._fixes import read_once

        return read_once(self.module, node)
