"""TL104: a tensor is created on the CPU and then moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import GENERATING
from torchlint.knowledge.factories import GENERATORS
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.move import Move
    from torchlint.rules.copies._factories import MovedFactory
    from torchlint.rules.copies._moved_content import MovedContent


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

    @on.move
    def check_content(self, move: Move) -> None:
        if self.module.in_test(move.call):  # the move may be what is tested
            return

        from torchlint.rules.copies._moved_content import MovedContents

        found = self.module.shared(MovedContents).of(move)
        if found is None:
            return
        call, name = found.factories[0]
        self.report(
            found.move,
            self._content_message(found),
            evidence=[self.module.evidence(call, f"`{name}` creates content on the CPU here")],
            severity=self._severity(found.move),
            heat=self.module.heat(found.move),
        )

    @on.call(*GENERATING)
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories

        found = self.module.shared(Factories).moved(node)
        if found is None:
            return

        from torchlint.rules.copies._factory_fixes import create_on_device

        heat = self.module.heat(node)
        evidence = [self.module.evidence(node, "created on the CPU here")] if found.move.in_variable else []
        self.report(
            found.move.call,
            self._message(found),
            evidence=evidence,
            severity=self._severity(node),
            heat=heat,
            fix=create_on_device(self.module, found),
        )

    def _severity(self, node: cst.CSTNode) -> Severity:
        from torchlint.rules.copies._moved_content import remembers

        often = self.module.every_step(node) and not remembers(self.module, node)
        return Severity.WARNING if often else Severity.INFO

    def _content_message(self, found: MovedContent) -> str:
        call = found.factories[0][0]
        names = ", ".join(dict.fromkeys(f"`{name}`" for _, name in found.factories))
        here = self.module.line(call) == self.module.line(found.move)
        where = "" if here else f" on {self.module.line_in_words(call)}"
        what = f"the content of {names} is computed on the CPU{where}"
        if self.module.heat(call).rank < self.module.heat(found.move).rank:
            return (
                f"{what} once, and copied to the device each time while the host waits: move it once, or let the "
                "module own it with `register_buffer`"
            )
        caveat = " (the numbers change: the device has its own random generator)" if found.is_random else ""
        return (
            f"{what}, and then copied to the device while the host waits: create it with `device=`, so that all the "
            f"work runs there{caveat}"
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
