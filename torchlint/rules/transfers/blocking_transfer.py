"""TL202: a blocking copy moves a batch to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import BLOCKING
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move

_PINNED = (
    "this copy blocks the host until all queued work finishes, in every step, although the loader uses pinned memory: "
    "add `non_blocking=True`"
)


class BlockingTransfer(Rule):
    id = "TL202"
    name = "blocking-transfer"
    summary = "A batch is moved to the device with a blocking copy"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, any_of(concepts.LOADERS, concepts.BACKWARD))
    layout = False
    about_steps = True
    recipe = Recipe("blocking-uploads", "evidence", "copies to the device that block the host", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a call of ``to`` or ``cuda`` that copies a pinned batch. All moves in one statement are one finding.

        What is copied from pageable memory is told by what following the programs sees.
        """
        events = [event for event in self.module.followed.beside(move.call, BLOCKING.key) if event.origin == "pinned"]
        nodes = self.module.followed.expressions([event.place for event in events])
        calls = [node for event in events if (node := nodes.get(event.place)) is not None]
        if not calls or calls[0] is not move.call or self.module.in_test(move.call):
            return

        from torchlint.analysis.contradictions import Contradictions
        from torchlint.rules.transfers._fixes import make_asynchronous

        if events[0].place in self.module.shared(Contradictions).places:
            return
        self.report(
            move.call,
            _PINNED,
            evidence=[self.module.evidence(call, "this copy blocks as well") for call in calls[1:]],
            severity=Severity.WARNING if events[0].is_costly else Severity.INFO,
            heat=self.module.heat(move.call),
            fix=make_asynchronous(self.module, calls),
        )
