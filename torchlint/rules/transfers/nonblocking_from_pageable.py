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
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers("non_blocking"))
    about_evaluation = True
    layout = False
    recipe = Recipe("pageable-uploads", "finding", "copies to the device from pageable memory", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move that is meant to be asynchronous."""
        module = self.module
        if not move.asynchronous or module.in_test(move.call):
            return
        from torchlint.rules.transfers._host_memory import HostMemory, is_read_at_once

        found = module.shared(HostMemory).pageable(move.moved)
        if found is None or not move.to_accelerator or is_read_at_once(module, move.call):
            return
        self.report(
            move.call,
            self._message(found, self._when(move)),
            evidence=[module.evidence(found.call, _EVIDENCE.get(found.kind, "this is not pinned"))],
            severity=Severity.INFO if found.is_small else Severity.WARNING,
            heat=module.heat(move.call),
            fix=self._fix(found),
        )

    def _when(self, move: Move) -> str:
        if self.module.heat(move.call).rank < Heat.STEP.rank:
            return ""
        from torchlint.analysis.things.step import Steps

        return f" in every {self.module.shared(Steps).around(move.call).in_words}"

    def _message(self, found: Pageable, when: str) -> str:
        made = getattr(found.call, "func", found.call)
        name = (self.module.qualified(made) or "").removeprefix("builtins.")
        if found.kind == "data":
            return (
                f"the result of `{name}` is not pinned: with more than 64 KB, the host waits for this copy{when} "
                "despite `non_blocking=True`; create it by `torch.tensor(.., pin_memory=True)`"
            )
        if found.kind == "strided":
            return (
                "the elements of this view of a pinned buffer are not adjacent, so the copy goes through pageable "
                f"memory, and the host waits for it{when} despite `non_blocking=True`: {_ADVICE[found.kind]}"
            )
        what = "this conversion" if found.kind == "converted" else f"the result of `{name}`"
        return (
            f"{what} is not pinned, so the host waits for this copy{when} despite `non_blocking=True`: "
            f"{_ADVICE[found.kind]}"
        )

    def _fix(self, found: Pageable) -> Fix | None:
        from torchlint.rules.transfers._fixes import pin_from_the_start

        return pin_from_the_start(self.module, found)


_EVIDENCE = {"strided": "this view skips elements"}
_ADVICE = {
    "converted": "convert it on the device, after the copy",
    "strided": "copy whole rows, and take the view on the device",
    "array": "fill a pinned tensor (`torch.empty(.., pin_memory=True)`) that is kept between steps",
    "batch": "move the parts first, and join them on the device",
    "tensors": "join them into a pinned tensor, `out=torch.empty(.., pin_memory=True)`",
}
