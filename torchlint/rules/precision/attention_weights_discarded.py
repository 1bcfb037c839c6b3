"""TL807: attention computes its weights, and nothing reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class AttentionWeightsDiscarded(Rule):
    id = "TL807"
    name = "attention-weights-discarded"
    summary = "`nn.MultiheadAttention` computes attention weights that nothing reads"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, of_library(["MultiheadAttention"]))
    layout = False
    recipe = Recipe(
        "function-calls",
        "finding",
        "attention computes its weights instead of calling the fused operation",
        functions=("torch.nn.functional.softmax", "torch._native_multi_head_attention"),
    )

    def visit_Call(self, node: cst.Call) -> None:
        """Check a call that may be one of attention."""
        from torchlint.rules.precision._attention import Attention

        if not self.module.shared(Attention).discards_weights(node) or self.module.in_test(node):
            return
        from torchlint.rules.precision._fixes import without_weights

        called = self.module.code(node.func)
        self.report(
            node,
            f"`{called}` computes attention weights for each head, and nothing reads them: pass `need_weights=False`, "
            "so that it calls the fused `scaled_dot_product_attention`",
            fix=without_weights(self.module, node),
        )
