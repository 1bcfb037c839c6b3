"""TL206: a tensor is copied to the host whole, and reduced there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._reductions import HostReduction


class CopyBeforeReduce(Rule):
    id = "TL206"
    name = "copy-before-reduce"
    summary = "A whole tensor is copied to the host, only to be reduced there"
    severity = Severity.INFO
    needs = (concepts.TORCH, concepts.HOT)
    layout = False
    recipe = Recipe("whole-downloads", "finding", "what is copied to the host is reduced there", least=2)

    @on.move
    def reduces(self, move: Move) -> None:
        """Check a call of ``cpu`` or ``to``."""
        if self.module.in_test(move.call):
            return
        from torchlint.rules.transfers._reductions import HostReductions

        found = self.module.shared(HostReductions).of(move)
        if found is None:
            return
        apart = self.module.line(found.place) != self.module.line(move.call)
        self.report(
            move.call,
            self._message(found),
            evidence=[self.module.evidence(found.place, "the CPU reduces it here")] if apart else [],
            heat=Heat.STEP,
        )

    def _message(self, found: HostReduction) -> str:
        what = "the whole tensor is copied to the host in every step, only for"
        if found.name is None:
            return f"{what} a part of it: select the part on the device, and copy that"
        return f"{what} `{found.name}` there: reduce it on the device, and copy the result"
