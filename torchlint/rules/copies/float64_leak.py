"""TL106: doubles are copied to the device, because float64 is NumPy's default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.move import Move
    from torchlint.rules.copies._doubles import Doubles


class Float64Leak(Rule):
    id = "TL106"
    name = "float64-leak"
    summary = "A float64 tensor is copied to the device, because float64 is NumPy's default"
    severity = Severity.INFO
    group = "preview"
    fix = "always"
    needs = (concepts.TORCH, concepts.HOT, identifiers("numpy"))
    layout = False
    recipe = Recipe("evaluations", "finding", "doubles are copied to the device in every step", least=2)

    @on.move
    def moves(self, move: Move) -> None:
        """Check a move of a tensor that may be float64."""
        if self._is_step(move.call):
            from torchlint.rules.copies._doubles import DoubleTensors

            self._report(move.call, self.module.shared(DoubleTensors).moved(move))

    @on.call("torch.as_tensor", "torch.tensor", "torch.asarray")
    @on.within("device")
    def constructs(self, node: cst.Call) -> None:
        """Check a constructor with ``device=``."""
        if self._is_step(node):
            from torchlint.rules.copies._doubles import DoubleTensors

            self._report(node, self.module.shared(DoubleTensors).created(node))

    def _is_step(self, node: cst.Call) -> bool:
        from torchlint.analysis.contradictions import Happening

        return self.module.shared(Happening).copies_data(node) and not self.module.in_test(node)

    def _report(self, node: cst.Call, found: Doubles | None) -> None:
        if found is None:
            return
        from torchlint.rules.copies._array_fixes import as_float32

        self.report(
            node,
            f"`{found.name}` makes a float64 tensor here, since that is NumPy's default: every step copies twice the "
            "bytes and computes in double precision; make the array float32, or convert it first",
            evidence=[self.module.evidence(found.made, "float64")] if found.made is not node else (),
            heat=Heat.STEP,
            fix=as_float32(self.module, found.made),
        )
