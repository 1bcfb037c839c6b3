"""TL201: a value is copied from the device to the host and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class DeviceRoundTrip(Rule):
    id = "TL201"
    name = "device-round-trip"
    summary = "A tensor is copied to the host and back for work that the device could do"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = ()
    layout = False
    recipe = Recipe("round-trips", "evidence", "copies to the host, and copies of the results back to the device")

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """Stay on the device in a chain of methods."""
        from torchlint.rules.transfers._fixes import stay_on_device

        return stay_on_device(self.module, node)
