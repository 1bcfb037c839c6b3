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
