"""TL301: the host synchronizes with the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Evidence, Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of, identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.read import Read
    from torchlint.analysis.things.step import Step
    from torchlint.rules.synchronization._read_costs import ReadCosts


class SyncInHotLoop(Rule):
    id = "TL301"
    name = "sync-in-hot-loop"
    summary = "The host synchronizes with the device in every step"
    severity = Severity.WARNING
    needs = (
        # A file that only calls `backward` may belong to a project that uses an accelerator.
        any_of(concepts.TORCH, identifier_parts("torch", "accelerat", "lightning"), concepts.BACKWARD),
        concepts.ON_ACCELERATOR,
        concepts.HOT,
    )
    layout = False
    about_reads = True
    recipe = Recipe("synchronizations", "evidence", "these lines synchronize with the device, step after step", least=2)

    @on.step
    def reads(self, step: Step) -> None:
        """Check a step; all of its reads that the host does not need are one finding."""
        if not step.reads or self.module.in_test(step.place):
            return
        from torchlint.rules.synchronization._elements import ElementLoops
        from torchlint.rules.synchronization._required_reads import RequiredReads

        required, elements = self.module.shared(RequiredReads), self.module.shared(ElementLoops)
        needed = [read for read in step.reads if required.is_required(read.node, step.place)]
        for read in needed:
            self.module.followed.require(read.node)
        reads = [read for read in step.reads if not (read in needed or elements.covers(read))]
        if not reads:
            return
        checks = [read for read in reads if required.checks_finiteness(read.node, step.place)]
        reads = [read for read in reads if read not in checks] or checks
        reads = [read for read in reads if self.circumstance(read.node) is None] or reads
        from torchlint.rules.synchronization._read_costs import ReadCosts

        costs = ReadCosts(self.module, step)
        costly = [read for read in reads if not costs.is_small(read)]
        main = costs.logged(costly) or costly or reads
        pays = step.trains or self.module.followed.costs(main[0].node)
        self.report(
            main[0].node,
            self._message(step, main, costs.advice(main), checks=reads == checks),
            evidence=self._evidence(step, reads, costs),
            severity=Severity.WARNING if pays and costly and reads != checks else Severity.INFO,
            heat=Heat.STEP,
        )

    def _message(self, step: Step, reads: list[Read], advice: str | None, *, checks: bool) -> str:
        lines = list(dict.fromkeys(self.module.line(read.node) for read in reads))
        more = f" ({len(reads)} such reads per step)" if len(lines) > 1 else ""
        what = f"{self._written(reads[0])} synchronizes with the GPU in every"
        if checks:
            return f"{what} step{more}: check every N steps, or let `GradScaler` skip steps that are not finite"
        if advice is not None:
            return f"{what} {step.in_words}{more}: {advice}"
        if not step.trains:
            room = ", if its memory has room for them" if any(_copies_content(read) for read in reads) else ""
            return f"{what} step{more}: collect results on the device{room}, and read them once after the loop"
        return f"{what} {step.in_words}{more}: accumulate on the device, and read after the loop or every N steps"

    def _written(self, read: Read) -> str:
        """The source code of a read if it is short, such as ``loss.item()``; otherwise a description."""
        code = self.module.code(read.node)
        return f"`{code}`" if len(code) <= 40 and "\n" not in code else read.how

    def _evidence(self, step: Step, reads: list[Read], costs: ReadCosts) -> list[Evidence]:
        from torchlint.rules.synchronization._repeated_reads import repeated_reads

        again = repeated_reads(self.module, reads)
        found = []
        for read in reads:
            note = _AGAIN if read in again else costs.note(read)
            place = f", {_WHERE[step.phase(read.node)]}" if note is None else f": {note}"
            found.append(self.module.evidence(read.node, f"{read.how}{place}"))
        return found


def _copies_content(read: Read) -> bool:
    """Whether a read may copy a whole tensor, such as a batch of outputs, rather than a single number."""
    return read.how in ("`.cpu()`", "`.numpy()`", "`.tolist()`") or read.how.endswith("to the CPU")


_AGAIN = "the same value was already read in this step, so this costs little"
_WHERE = {
    "forward": "before the backward pass, which is queued only afterwards",
    "backward": "between the backward pass and the optimizer step",
    "logging": "after the step",
    None: "in every step",
}
