"""TL205: the same tensor is moved to the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._repeated import Repeated


class LoopInvariantTransfer(Rule):
    id = "TL205"
    name = "loop-invariant-transfer"
    summary = "A tensor that never changes is copied to the device in every step"
    severity = Severity.INFO
    group = "advice"
    needs = (concepts.TORCH, concepts.HOT)
    layout = False
    recipe = Recipe("repeated-uploads", "finding", "the same tensor is copied to the device again and again", least=2)

    @on.move
    def repeats(self, move: Move) -> None:
        """Check a call of ``to``, ``cuda`` or ``type_as``."""
        if self.module.in_test(move.call):
            return
        from torchlint.rules.transfers._repeated import RepeatedMoves

        found = self.module.shared(RepeatedMoves).of(move)
        if found is None:
            return
        self.report(
            move.call,
            f"{self._what(found)}: {self._advice(found)}",
            evidence=[self.module.evidence(found.origin, "the tensor is created here, and stays on the CPU")],
            severity=Severity.WARNING if self.module.every_step(move.call) else Severity.INFO,
            heat=Heat.STEP,
        )

    def _what(self, found: Repeated) -> str:
        waits = ", while the host waits" if found.move.blocking else ""
        name = self.module.code(found.tensor)
        return f"`{name}` never changes, but every step copies it to the device again{waits}"

    def _advice(self, found: Repeated) -> str:
        import libcst as cst

        if isinstance(found.tensor, cst.Name):
            return "move it once, before the loop"
        owner = self.module.class_of(found.tensor)
        classes = self.module.classes
        if owner is None or not (classes.is_module(owner) or classes.method(owner, "forward")):
            return "move it once, where it is created"
        registered = f'self.register_buffer("{found.tensor.attr.value}", ..., persistent=False)'
        return f"make it a buffer of the module (`{registered}`)"
