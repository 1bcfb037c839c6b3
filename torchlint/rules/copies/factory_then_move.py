"""TL104: a tensor is created on the CPU and then moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import GENERATING
from torchlint.model import Fix, Recipe, Safety, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class FactoryThenMove(Rule):
    id = "TL104"
    name = "factory-then-move"
    summary = "A tensor is created on the CPU only to be moved to a device"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.MOVE, of_library(GENERATING))
    layout = False
    about_steps = True
    recipe = Recipe("born-on-host", "finding", "a tensor created on the host is copied to the device", least=2)

    @on.call(*GENERATING)
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories, gains_nothing, happens_once

        factories = self.module.shared(Factories)
        found = factories.moved(node)
        if found is None or not happens_once(self.module, found.move.call) or gains_nothing(self.module, found):
            return
        if not factories.on_cpu(node):
            return

        from torchlint.rules.copies._factory_fixes import create_on_device

        fix = create_on_device(self.module, found)
        if fix is None or fix.safety is not Safety.SAFE:
            return  # copied once, which costs too little for a change that may matter
        self.report(
            found.move.call,
            f"`{found.name}` creates a tensor on the CPU, which is then copied: create it on the device with `device=`",
            evidence=[self.module.evidence(node, "created on the CPU here")] if found.move.in_variable else [],
            severity=Severity.INFO,
            fix=fix,
        )

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """The tensor, created on the device."""
        from torchlint.rules.copies._factories import Factories, makers
        from torchlint.rules.copies._factory_fixes import create_on_device

        made = map(self.module.shared(Factories).moved, makers(self.module, node))
        return next((create_on_device(self.module, found) for found in made if found and found.move.call is node), None)
