"""TL107: a tensor is converted to a larger dtype on the CPU before it is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loading.loader import Loader
    from torchlint.analysis.things.move import Move
    from torchlint.rules.copies._casts import HostWork


class CastBeforeTransfer(Rule):
    id = "TL107"
    name = "cast-before-transfer"
    summary = "A tensor is converted to a larger dtype right before it is copied to the device"
    severity = Severity.INFO
    group = "advice"
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.HOT)
    layout = False
    recipe = Recipe("enlarged-uploads", "finding", "what is copied was converted or enlarged by the CPU", least=2)

    @on.move
    def grows(self, move: Move) -> None:
        """Check a call of ``to`` or ``cuda``."""
        if self.module.in_test(move.call):
            return
        from torchlint.rules.copies._casts import HostWorks

        found = self.module.shared(HostWorks).of(move)
        if found is None:
            return
        from torchlint.rules.copies._cast_fixes import convert_after

        urgent = found.work == "cast" and self.module.followed.costs(move.call)
        self.report(
            move.call,
            self._message(found),
            severity=Severity.WARNING if urgent else Severity.INFO,
            heat=Heat.STEP,
            fix=convert_after(self.module, found),
        )

    @on.loader
    def samples(self, loader: Loader) -> None:
        """Check what the data sets of a loader convert."""
        if self.module.in_test(loader.call):
            return
        from torchlint.rules.copies._sample_casts import SampleCasts

        for part, found in self.module.shared(SampleCasts).new(loader):
            self.report(
                part,
                f"the data set converts {found.before} to {found.after} on the CPU, and {found.factor} times the bytes "
                f"are collated and copied to the device: return {found.before}, and convert the batch there",
                severity=Severity.INFO,
                evidence=[self.module.evidence(loader.call, "this loader makes the batches that are moved")],
            )

    def _message(self, found: HostWork) -> str:
        if found.work == "enlarging":
            return (
                f"`{found.method}` enlarges the tensor on the CPU, and every repetition is copied to the device: move "
                f"it first, and call `{found.method}` there"
            )
        times = f"which copies {found.factor} times the bytes to the device"
        if found.work == "arithmetic":
            return (
                f"the CPU first computes {found.after} numbers from {found.before} ones, {times}: move the tensor, and "
                "compute there"
            )
        assert found.move is not None
        method = f"{found.method}()" if found.method != "to" else "to(dtype)"
        return (
            f"the CPU first converts {found.before} to {found.after}, {times}: move the tensor, and convert it there "
            f"(`.{found.move.method}(...).{method}`)"
        )
