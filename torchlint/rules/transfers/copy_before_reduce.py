"""TL206: a tensor is copied to the host whole, and reduced there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import MOVED_TO_HOST, READ_METHOD
from torchlint.model import Heat, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.syntax.followed import Seen


class CopyBeforeReduce(Rule):
    id = "TL206"
    name = "copy-before-reduce"
    summary = "A whole tensor is copied to the host, only to be reduced there"
    severity = Severity.INFO
    needs = ()
    layout = False
    recipe = Recipe("whole-downloads", "finding", "what is copied to the host is reduced there", least=2)

    @on.form(READ_METHOD)
    def reads(self, seen: Seen) -> None:
        """Check a call of ``cpu``."""
        self.moves(seen)

    @on.form(MOVED_TO_HOST)
    def moves(self, seen: Seen) -> None:
        """Check a copy to the host."""
        what = "the whole tensor is copied to the host in every step, only for"
        only = seen.event.only
        if only.startswith("`"):
            message = f"{what} {only} there: reduce it on the device, and copy the result"
        else:
            message = f"{what} a part of it: select the part on the device, and copy that"
        if only:
            self.report(seen.node, message, heat=Heat.STEP)
