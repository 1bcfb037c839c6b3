"""TL204: memory of the host is used while an asynchronous copy to or from it may be under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class UnsafeNonblockingDownload(Rule):
    id = "TL204"
    name = "unsafe-nonblocking-download"
    summary = "The host reads a copy from the device that may not have arrived"
    severity = Severity.ERROR
    fix = "sometimes"
    needs = ()
    layout = False
    recipe = Recipe("asynchronous-downloads", "finding", "copies to the host for which the host does not wait")

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """Wait for the copy."""
        from torchlint.rules.transfers._fixes import make_blocking

        return make_blocking(self.module, node)
