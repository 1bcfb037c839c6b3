"""TL808: cached memory is returned to the driver in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.following import EMPTYING
from torchlint.knowledge.forms import EMPTIED
from torchlint.model import Heat, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.syntax.followed import Seen


class EmptyCacheInLoop(Rule):
    id = "TL808"
    name = "empty-cache-in-loop"
    summary = "Cached memory is returned to the driver in every step"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = ()
    layout = False
    about_evaluation = True
    recipe = Recipe(
        "function-calls",
        "finding",
        "the cache is emptied in every step, which takes a part of the step's time",
        least=0.5,
        each="step",
        functions=EMPTYING,
    )

    @on.form(EMPTIED)
    def empties(self, seen: Seen) -> None:
        """Check a call of ``empty_cache`` in a step."""
        import libcst as cst

        from torchlint.rules.precision._clearing import Clearing
        from torchlint.rules.precision._fixes import without_call

        module, call = self.module, cst.ensure_type(seen.node, cst.Call)
        clearing = module.shared(Clearing)
        if seen.event.option or module.in_test(call) or not clearing.is_wasted(call):
            return
        self.report(
            call,
            f"`{module.code(call)}` returns cached memory {seen.event.when}, which is then allocated "
            "again: remove it; against fragmentation, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`",
            severity=Severity.WARNING if seen.event.is_in_steps and not clearing.is_explained(call) else Severity.INFO,
            heat=Heat.STEP,
            fix=without_call(module, call),
        )
