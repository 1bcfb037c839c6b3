"""TL808: cached memory is returned to the driver in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

EMPTYING = tuple(
    f"torch.{owner}.empty_cache"
    for owner in ("cuda", "cuda.memory", "accelerator", "accelerator.memory", "mps", "xpu", "xpu.memory")
)


class EmptyCacheInLoop(Rule):
    id = "TL808"
    name = "empty-cache-in-loop"
    summary = "Cached memory is returned to the driver in every step"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.HOT,)
    layout = False
    recipe = Recipe(
        "function-calls",
        "finding",
        "the cache is emptied in every step, which takes a part of the step's time",
        least=0.5,
        each="step",
        functions=EMPTYING,
    )

    @on.call(*EMPTYING)
    def empties(self, node: cst.Call) -> None:
        """Check a call of ``empty_cache``."""
        from torchlint.rules.precision._clearing import Clearing

        module = self.module
        clearing = module.shared(Clearing)
        if module.in_test(node) or not clearing.is_wasted(node):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.precision._fixes import without_call

        trains = module.every_step(node)
        step = module.shared(Steps).around(node).in_words
        self.report(
            node,
            f"`{module.code(node)}` returns cached memory in every {step}, which the next one must allocate again: "
            "remove it; against fragmentation, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`",
            severity=Severity.WARNING if trains and not clearing.is_explained(node) else Severity.INFO,
            heat=Heat.STEP,
            fix=without_call(module, node),
        )
