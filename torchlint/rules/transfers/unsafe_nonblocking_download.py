"""TL204: the host reads memory that an asynchronous copy from the device may not have filled yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.move import Move


class UnsafeNonblockingDownload(Rule):
    id = "TL204"
    name = "unsafe-nonblocking-download"
    summary = "The host reads a copy from the device that may not have arrived"
    severity = Severity.ERROR
    fix = "always"
    needs = (concepts.TORCH, identifiers("non_blocking"), identifiers("cpu copy_"))
    layout = False
    recipe = Recipe("asynchronous-downloads", "finding", "copies to the host for which the host does not wait")

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move that may be an asynchronous copy to the host."""
        from torchlint.rules.transfers._downloads import Downloads

        downloads = self.module.shared(Downloads)
        read = downloads.first_read(move) if downloads.is_download(move) else None
        if read is None:
            return
        from torchlint.rules.transfers._fixes import make_blocking

        self.report(
            move.call,
            f"this copy is only queued, and {self._reader(move.call, read)} reads it before anything waits for "
            "the device, so the values may be wrong: remove `non_blocking=True`, or synchronize first",
            evidence=[self.module.evidence(read, "reads the copy")],
            fix=make_blocking(self.module, move),
        )

    def _reader(self, copy: cst.Call, read: cst.CSTNode) -> str:
        """The expression that reads, in words."""
        import libcst as cst

        if any(around is read for around in self.module.ancestors(copy)):
            if not isinstance(read, cst.Call):
                return "the expression around it"
            called = read.func
            return f"`{f'.{called.attr.value}' if isinstance(called, cst.Attribute) else self.module.code(called)}(..)`"
        text = " ".join(self.module.code(read).split())
        shown = f"`{text}`" if len(text) < 60 else "the expression"
        return f"{shown} on {self.module.line_in_words(read)}"
