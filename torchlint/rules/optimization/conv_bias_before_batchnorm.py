"""TL605: a convolution has a bias, which the batch normalization after it cancels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.layers import CONVOLUTIONS
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ConvBiasBeforeBatchnorm(Rule):
    id = "TL605"
    name = "conv-bias-before-batchnorm"
    summary = "Batch normalization cancels the bias of a convolution"
    severity = Severity.INFO
    default = False
    fix = "sometimes"
    needs = (concepts.TORCH, identifier_parts("batchnorm"))
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "the bias is added inside the kernel of the convolution; `torchlint compare` measures what the fix is worth",
    )

    @on.call(*CONVOLUTIONS)
    def check(self, node: cst.Call) -> None:
        """Check the construction of a convolution."""
        from torchlint.rules.optimization._normalized import NormalizedConvolutions

        if not self.module.shared(NormalizedConvolutions).has_useless_bias(node) or self.module.in_test(node):
            return
        from torchlint.rules.optimization._fixes import without_bias

        self.report(
            node,
            f"the batch norm after this `{self.module.code(node.func)}` cancels its bias, which costs an addition to "
            "the whole output, and a sum over it in the backward pass: pass `bias=False`",
            fix=without_bias(self.module, node),
        )
