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
    """
    ## What it finds
    A call of `nn.MultiheadAttention` without `need_weights=False` whose attention weights nothing reads:
    `attention(x, x, x)[0]`, or `x, _ = attention(x, x, x)` where the second variable is never used.

    ## Why it costs
    `need_weights` is true by default. Attention then materializes a matrix of weights for each head, keeps it for the
    backward pass, and averages it over the heads for the caller. With `need_weights=False`, it calls
    `scaled_dot_product_attention` (since torch 2.0), whose fused kernels never store that matrix.

    In RT-DETR, the decoder's self-attention went from 9 CUDA kernels to 3, with the same accuracy on COCO
    (lyuwenyu/RT-DETR#678). With torch 2.13 on one CPU core, a forward and backward pass of 4 sequences of 512 vectors
    with 8 heads took 0.27 seconds, and 0.17 without the weights, and the forward pass needed 64 MiB less. With a single
    query per sequence, as in attention pooling, the matrices and the gain are small. On a GPU, the gain depends on the
    lengths and on the chosen kernel: on an H200, a forward pass of these sequences took 0.33 ms, and 0.28 without the
    weights.

    ## Instead
    Flagged:

    ```python
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.attention = nn.MultiheadAttention(dim, 8)

        def forward(self, x):
            return x + self.attention(x, x, x)[0]
    ```

    Preferred:

    ```python
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.attention = nn.MultiheadAttention(dim, 8)

        def forward(self, x):
            return x + self.attention(x, x, x, need_weights=False)[0]
    ```

    ## When to leave it
    Where a forward hook that another file registers reads the weights, for example to plot them. Under `torch.compile`,
    the pattern may be recognized and fused, so less is gained.

    The rule is silent where `need_weights` or `average_attn_weights` is passed, or `**kwargs` may pass it; for
    subclasses, wrappers and attention from other libraries; in files that register forward hooks or mention ONNX;
    outside of functions; and in tests.

    ## Fix safety
    Adding `need_weights=False` is unsafe: outputs differ by rounding (5.6e-8 in the measurement above), dropout draws
    other random numbers, fully masked rows become zero instead of NaN (pytorch/pytorch#160064), and `is_causal=True`
    takes effect (pytorch/pytorch#99282).

    ## Confirmed by
    Calls of `softmax` in the attention itself, which the fused operation does not make.

    ## Sources
    - [`torch.nn.MultiheadAttention`](https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html)
    - `torch.nn.functional.multi_head_attention_forward` in torch 2.13
    - [lyuwenyu/RT-DETR#678](https://github.com/lyuwenyu/RT-DETR/issues/678)
    - [pytorch/pytorch#100347](https://github.com/pytorch/pytorch/issues/100347)
    """

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
