"""TL202: a blocking copy moves a batch to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._blocking import Upload


_WHAT = "this copy blocks the host until all queued work finishes, in every step"


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
        """Check a call of ``to`` or ``cuda``. All moves in one statement are one finding."""
        from torchlint.rules.transfers._blocking import Uploads

        uploads = self.module.shared(Uploads).starting_with(move)
        if not uploads or self.module.in_test(move.call):
            return

        from torchlint.rules.transfers._fixes import make_asynchronous

        self.report(
            move.call,
            self._message(uploads[0]),
            evidence=self._evidence(uploads),
            severity=Severity.WARNING if uploads[0].pinned else Severity.INFO,
            heat=self.module.heat(move.call),
            fix=None if any(upload.computed for upload in uploads) else make_asynchronous(self.module, uploads),
        )

    def _message(self, upload: Upload) -> str:
        if upload.batch is None and self.module.followed.copy(upload.move.call) == "array":
            return f"{_WHAT}: let a `DataLoader` with pinned memory make the batch, and set `non_blocking=True` here"
        if upload.computed is not None:
            return f"{_WHAT}, since joining gives unpinned memory: join in the loader's `collate_fn`, or on the device"
        if upload.made:
            return f"{_WHAT}: no data loader makes this batch and pins it, so `non_blocking=True` alone gains nothing"
        if upload.pinned is False:
            return (
                f"{_WHAT}: set `pin_memory=True` in the loader first, without which `non_blocking=True` gains nothing"
            )
        if upload.pinned is None:
            return f"{_WHAT}: set `non_blocking=True`, which helps if a data loader with `pin_memory=True` makes it"
        place = f" ({self.module.line_in_words(upload.pinned)})" if upload.pinned != "elsewhere" else ""
        return f"{_WHAT}, although the loader uses pinned memory{place}: add `non_blocking=True`"

    def _evidence(self, uploads: list[Upload]) -> list[Evidence]:
        found = [self.module.evidence(upload.move.call, "this copy blocks as well") for upload in uploads[1:]]
        pinned = uploads[0].pinned
        if pinned and pinned != "elsewhere":
            found.append(self.module.evidence(pinned, "this loader uses pinned memory"))
        return found
