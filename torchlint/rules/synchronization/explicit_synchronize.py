"""TL306: the program synchronizes with the device in every step without measuring time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ExplicitSynchronize(Rule):
    id = "TL306"
    name = "explicit-synchronize"
    summary = "`torch.cuda.synchronize()` blocks the host in every step"
    severity = Severity.WARNING
    fix = "sometimes"
    layout = False
    recipe = Recipe(
        "function-calls",
        "finding",
        "the host synchronizes in every step, and is blocked for a part of it",
        least=0.5,
        each="step",
        functions=("torch.cuda.synchronize", "torch.accelerator.synchronize"),
    )

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """No call."""
        from torchlint.rules.synchronization._fixes import without_call

        return without_call(self.module, node)
