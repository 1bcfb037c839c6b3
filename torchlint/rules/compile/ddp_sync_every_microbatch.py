"""TL905: gradients are reduced over all processes in every micro-batch, although they are only used later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.distributed import DISTRIBUTED, SYNCHRONIZING
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.step import Step


class DdpSyncEveryMicrobatch(Rule):
    id = "TL905"
    name = "ddp-sync-every-microbatch"
    summary = "Gradients are all-reduced in every micro-batch of an accumulation"
    severity = Severity.INFO
    programs = ("training",)
    needs = (concepts.BACKWARD, of_library(DISTRIBUTED))
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "all-reduces overlap with the backward pass, in C++ code that reports neither their number nor their time",
    )

    @on.step
    def accumulates(self, step: Step) -> None:
        """Check a loop that makes steps."""
        import libcst as cst

        from torchlint.rules.compile._accumulation import Accumulations

        module = self.module
        found = module.shared(Accumulations).in_loop(step.place)
        if found is None or module.in_test(step.place) or any(map(module.names_spelled, SYNCHRONIZING)):
            return
        wrapping = [c for c in module.nodes_of(cst.Call) if module.qualified(c.func) in DISTRIBUTED]
        if not wrapping:
            return
        self.report(
            found.backward,
            f"`{module.code(found.backward)}` all-reduces gradients in every iteration, but the optimizer uses them "
            f"only every few ({module.line_in_words(found.step)}): run the other passes under `no_sync()` of the DDP "
            "model",
            evidence=[
                module.evidence(found.step, "the optimizer makes a step here"),
                module.evidence(wrapping[0], "this model reduces its gradients"),
            ],
        )
