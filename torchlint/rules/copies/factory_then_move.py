"""TL104: a tensor is created on the CPU and then moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import GENERATING
from torchlint.knowledge.factories import GENERATORS
from torchlint.model import Heat, Recipe, Safety, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.copies._factories import MovedFactory


class FactoryThenMove(Rule):
    id = "TL104"
    name = "factory-then-move"
    summary = "A tensor is created on the CPU only to be moved to a device"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.MOVE, of_library(GENERATORS))
    layout = False
    about_steps = True
    recipe = Recipe("born-on-host", "finding", "a tensor created on the host is copied to the device", least=2)

    @on.call(*GENERATING)
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories

        found = self.module.shared(Factories).moved(node)
        if found is None:
            return

        from torchlint.analysis.contradictions import Happening
        from torchlint.rules.copies._factory_fixes import create_on_device

        in_step, fix = self.module.shared(Happening).copies(found.move.call), create_on_device(self.module, found)
        safe = fix is not None and fix.safety is Safety.SAFE
        if not in_step and (self.module.in_test(node) or not (safe or self.module.may_repeat(node))):
            return  # copied once, which costs too little for a change that may matter
        self.report(
            found.move.call,
            self._message(found),
            evidence=[self.module.evidence(node, "created on the CPU here")] if found.move.in_variable else [],
            severity=Severity.INFO,
            heat=Heat.STEP if in_step else None,
            fix=fix,
        )

    def _message(self, found: MovedFactory) -> str:
        line = f" on {self.module.line_in_words(found.call)}" if found.move.in_variable else ""
        what = f"`{found.name}` creates a tensor on the CPU{line}, which is then copied to the device"
        if found.computed:
            work = ", ".join(f"`{name}`" for name in found.computed)
            return f"{what} after {work} on the CPU: create it with `device=`, so that all the work runs on the device"
        caveat = {
            "deterministic": "",
            "rounded": " (the last bits may differ)",
            "random": " (the numbers change: the device has its own random generator)",
        }[found.content]
        if found.requires_grad:
            caveat += " (unlike the moved tensor, it is then a leaf with its own gradient)"
        return f"{what} while the host waits: create it on the device with `device=`{caveat}"
