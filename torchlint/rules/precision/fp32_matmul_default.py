"""TL801: a training in float32 that leaves the precision of matrix products at its default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

# Code with one of these may need every digit.
_EXACT = of_library(
    "float64 cholesky eigh eigvalsh eig svd lstsq pinverse pinv slogdet logdet jacobian hessian".split()
)


class Fp32MatmulDefault(Rule):
    """
    ## What it finds
    The backward pass of a training on an accelerator that multiplies matrices (attention, transformers, `torch.matmul`,
    `einsum`) in float32, where no file of the program chooses a precision: neither autocast or another dtype, nor one
    of the settings of TensorFloat-32. The rule is off by default.

    ## Why it costs
    GPUs since Ampere multiply float32 matrices on Tensor Cores if the factors may be rounded to TensorFloat-32, which
    has the range of float32 and 10 bits of mantissa. In torch 1.7 to 1.11 this was the default; since 1.12, it is for
    convolutions only (in torch 2.13, `torch.get_float32_matmul_precision()` is `"highest"`, and `cudnn.allow_tf32` is
    true). PyTorch's notes on CUDA report about 7 times the speed for a product of two 10240 x 10240 matrices on an
    A100. Only a run on such a GPU can show what a training gains, and whether its results stay as good.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn


    def train(loader):
        model = nn.TransformerEncoderLayer(256, 8).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for x in loader:
            model(x.cuda()).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    Preferred:

    ```python
    import torch
    from torch import nn

    torch.set_float32_matmul_precision("high")


    def train(loader):
        model = nn.TransformerEncoderLayer(256, 8).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for x in loader:
            model(x.cuda()).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## When to leave it
    On GPUs before Ampere, where nothing changes, and where results need every digit: physics, linear algebra, Gaussian
    processes.

    The rule is silent unless the file, or one that it imports, multiplies matrices by the functions above (`@` and
    plain layers do not count); if one of them has convolutions; in files with matrix decompositions or float64; if the
    run mentions mixed precision, DeepSpeed, Accelerate or Apex anywhere; and in tests.

    ## Fix safety
    There is no fix: the setting changes the results of the whole program.

    ## Confirmed by
    No run decides it, and the verdict is `unknown`: what TensorFloat-32 saves shows in a comparison of two
    runs on a GPU since Ampere, with and without it.

    ## Sources
    - [CUDA semantics, TensorFloat-32](https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices)
    - [`torch.set_float32_matmul_precision`](https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html)
    - [huggingface/transformers#16588](https://github.com/huggingface/transformers/issues/16588)
    """

    id = "TL801"
    name = "fp32-matmul-default"
    summary = "A float32 training leaves the precision of matrix products at its default"
    severity = Severity.INFO
    default = False
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR, concepts.STEPS)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "what TensorFloat-32 saves shows in a comparison of two runs on a GPU since Ampere, with and without it",
    )

    @on.method("backward")
    def trains(self, node: cst.Call) -> None:
        """Check a backward pass; of several in one step, the first."""
        module = self.module
        if not module.every_step(node) or module.in_test(node) or not module.device_evidence.on_accelerator:
            return
        if self._is_chosen() or not self._multiplies() or self._is_later(node):
            return
        self.report(
            node,
            "this training uses float32, and nothing sets the precision of matrix products: on GPUs since Ampere, try "
            '`torch.set_float32_matmul_precision("high")`, which rounds factors to TensorFloat-32',
            heat=Heat.STEP,
        )

    def _is_chosen(self) -> bool:
        """Whether the program chooses a precision, or may need every digit."""
        text = self.module.text_index
        project = self.module.project
        return text.has(concepts.SETS_PRECISION) or text.has(_EXACT) or project.sets_precision() or project.sets_dtype()

    def _multiplies(self) -> bool:
        """Whether the file, or one that it imports, multiplies matrices, and neither has convolutions."""
        imports = [binding.qualified for binding in self.module.project_imports() if binding.qualified]
        text, project = self.module.text_index, self.module.project
        if text.has(concepts.CONVOLVES) or project.convolves(imports):
            return False
        return text.has(concepts.MULTIPLIES) or project.multiplies(imports)

    def _is_later(self, node: cst.Call) -> bool:
        """Whether another backward pass comes before this one in the same step."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import method

        step = self.module.heat_analysis.enclosing_step(node)
        calls = self.module.within(step, cst.Call, frozenset(("backward",)))
        return any(method(c) == "backward" and self.module.comes_before(c, node) for c in calls)
