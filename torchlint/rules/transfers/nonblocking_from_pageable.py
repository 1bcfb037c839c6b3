"""TL207: a copy is meant to be asynchronous, but its source lies in pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Fix, Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._host_memory import Pageable


class NonblockingFromPageable(Rule):
    id = "TL207"
    name = "nonblocking-from-pageable"
    summary = "A copy with `non_blocking=True` cannot be asynchronous, since its source is not pinned"
    severity = Severity.INFO
    group = "advice"
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers("non_blocking"), concepts.HOT)
    layout = False
    recipe = Recipe("pageable-uploads", "finding", "copies to the device from pageable memory", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move that is meant to be asynchronous."""
        module = self.module
        if not move.asynchronous or module.heat(move.call).rank < Heat.STEP.rank or module.in_test(move.call):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.transfers._host_memory import HostMemory, is_read_at_once

        found = module.shared(HostMemory).pageable(move.moved)
        if found is None or not move.to_accelerator or is_read_at_once(module, move.call):
            return
        trains = module.every_step(move.call)
        self.report(
            move.call,
            self._message(found, module.shared(Steps).around(move.call).in_words),
            evidence=[module.evidence(found.call, "this is not pinned")],
            severity=Severity.WARNING if trains and found.kind != "data" else Severity.INFO,
            heat=Heat.STEP,
            fix=self._fix(found),
        )

    def _message(self, found: Pageable, step: str) -> str:
        name = (self.module.qualified(found.call.func) or "").removeprefix("builtins.")
        if found.kind == "data":
            return (
                f"the result of `{name}` is not pinned: with more than 64 KB, the host waits for this copy in every "
                f"{step} despite `non_blocking=True`; create it by `torch.tensor(.., pin_memory=True)`"
            )
        return (
            f"the result of `{name}` is not pinned, so the host waits for this copy in every {step} despite "
            f"`non_blocking=True`: {_ADVICE[found.kind]}"
        )

    def _fix(self, found: Pageable) -> Fix | None:
        from torchlint.rules.transfers._fixes import pin_from_the_start

        return pin_from_the_start(self.module, found)


_ADVICE = {
    "array": "fill a pinned tensor (`torch.empty(.., pin_memory=True)`) that is kept between steps",
    "batch": "move the parts first, and join them on the device",
    "tensors": "join them into a pinned tensor, `out=torch.empty(.., pin_memory=True)`",
}
