"""TL803: gradients are scaled although the loss is computed in bfloat16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.precision import GRAD_SCALERS
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ScalerWithBfloat16(Rule):
    id = "TL803"
    name = "scaler-with-bfloat16"
    summary = "A gradient scaler is used although the loss is computed in bfloat16"
    severity = Severity.WARNING
    group = "preview"
    programs = ("training",)
    fix = "sometimes"
    needs = (identifiers("bfloat16"), identifiers("scale"))
    layout = False
    recipe = Recipe(
        "function-calls",
        "evidence",
        "the scaler unscales and checks all gradients in every step",
        least=0.5,
        each="step",
        functions=("torch.amp.GradScaler._unscale_grads_",),
    )

    @on.call(*GRAD_SCALERS)
    def scales(self, node: cst.Call) -> None:
        """Check a call that makes a gradient scaler."""
        from torchlint.rules.precision._scaling import Scalers

        module = self.module
        scaling = module.shared(Scalers).in_bfloat16(node)
        if scaling is None or module.in_test(node):
            return
        from torchlint.rules.precision._fixes import without_scaling

        context = scaling.contexts[0]
        notes = ((context, "losses are computed in bfloat16 here"), (scaling.scales[0], "the loss is scaled here"))
        self.report(
            node,
            f"this scaler's losses are computed in bfloat16 ({module.line_in_words(context)}), which needs no scaling, "
            "yet every step checks all gradients and waits for the result: pass `enabled=False`",
            evidence=[
                *(module.evidence(where, text) for where, text in notes),
                *(module.evidence(call, "the scaler checks gradients here") for call in scaling.updates[:5]),
            ],
            fix=without_scaling(module, node),
        )
