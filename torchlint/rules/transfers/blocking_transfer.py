"""TL202: a blocking copy moves a batch to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.knowledge.forms import BLOCKING
from torchlint.model import Fix, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class BlockingTransfer(Rule):
    id = "TL202"
    name = "blocking-transfer"
    summary = "A batch is moved to the device with a blocking copy"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = ()
    layout = False
    about_steps = True
    recipe = Recipe("blocking-uploads", "evidence", "copies to the device that block the host", least=2)

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """Let all copies of pinned batches in a statement not wait."""
        events = [event for event in self.module.followed.beside(node, BLOCKING.key) if event.origin == "pinned"]
        nodes = self.module.followed.expressions([event.place for event in events])
        if not nodes:
            return None
        from torchlint.rules.transfers._fixes import make_asynchronous

        return make_asynchronous(self.module, list(nodes.values()))
