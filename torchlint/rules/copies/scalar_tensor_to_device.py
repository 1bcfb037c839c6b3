"""TL105: Python numbers are copied to the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ScalarTensorToDevice(Rule):
    id = "TL105"
    name = "scalar-tensor-to-device"
    summary = "Python numbers are copied to the device in every step"
    severity = Severity.INFO
    fix = "sometimes"
    layout = False
    about_steps = True
    recipe = Recipe("blocking-uploads", "evidence", "numbers are copied to the device, and the host waits", least=2)

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """A number that the device fills in itself."""
        from torchlint.rules.copies._number_fixes import fill_on_device

        return fill_on_device(self.module, node)
