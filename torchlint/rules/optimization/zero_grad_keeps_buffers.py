"""TL601: gradients are filled with zeros instead of being dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.training import ZERO_GRAD_SETS_NONE
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ZeroGradKeepsBuffers(Rule):
    id = "TL601"
    name = "zero-grad-keeps-buffers"
    summary = "Gradients are filled with zeros instead of being set to `None`"
    severity = Severity.INFO
    group = "preview"
    programs = ("training",)
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
    recipe = Recipe(
        "filled-gradients", "finding", "gradients are filled with zeros in every step", least=0.5, each="step"
    )

    @on.method("zero_grad")
    def drops(self, node: cst.Call) -> None:
        """Check a call of ``zero_grad``."""
        from torchlint.analysis.syntax.calls import argument, is_opaque, literal

        given = argument(node, "set_to_none", 0)
        since, default = ZERO_GRAD_SETS_NONE
        explicit = given is not None and literal(given) is False
        old = given is None and not is_opaque(node) and not self.module.has_torch(default)
        if not explicit and not (old and self.module.has_torch(since) and self._is_of_torch(node)):
            return
        from torchlint.rules.optimization._gradients import Gradients

        if self._may_be_needed(node) or not self.module.shared(Gradients).is_of_training(node):
            return
        why = "" if explicit else f" in torch before {default}, which the project supports,"
        self._report(node, f"`{self.module.code(node)}`{why} fills", "pass `set_to_none=True`", fixable=True)

    def _is_of_torch(self, node: cst.Call) -> bool:
        """Whether the gradients are those of a model or optimizer of torch: others may have no ``set_to_none``."""
        from torchlint.analysis.syntax.calls import receiver
        from torchlint.analysis.values.lattice import Kind

        return self.module.value(receiver(node)).kind in (Kind.OPTIMIZER, Kind.MODULE)

    @on.method("zero_", "fill_")
    def fills(self, node: cst.Call) -> None:
        """Check ``p.grad.zero_()`` in a loop over parameters."""
        from torchlint.rules.optimization._gradients import Gradients

        if not self._may_be_needed(node) and self.module.shared(Gradients).is_zeroed_one_by_one(node):
            self._report(node, "this loop fills", "call `zero_grad()` of the optimizer or model", fixable=False)

    def _may_be_needed(self, node: cst.Call) -> bool:
        """Whether gradients may have to stay where they are, or nothing says that they are on an accelerator."""
        if self.module.in_test(node) or any(word in self.module.text for word in _NEEDED):
            return True
        return self._uses_the_memory() or not self.module.device_evidence.on_accelerator

    def _uses_the_memory(self) -> bool:
        """Whether the file itself adds to gradients, or chooses where they are: ``p.grad += g``, ``p.grad = view``."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import literal, method

        for attribute in self.module.attributes_named("grad"):
            parent = self.module.parent(attribute)
            call = self.module.parent(parent) if isinstance(parent, cst.Attribute) else None
            if isinstance(parent, cst.AugAssign) and parent.target is attribute:
                return True
            placed = self.module.parent(parent) if isinstance(parent, cst.AssignTarget) else None
            if isinstance(placed, cst.Assign) and literal(placed.value) is not None:
                return True
            if isinstance(call, cst.Call) and method(call) in ("add_", "copy_", "sub_"):
                return True
        return False

    def _report(self, node: cst.Call, what: str, advice: str, *, fixable: bool) -> None:
        from torchlint.rules.optimization._fixes import dropping

        self.report(
            node,
            f"{what} every gradient with zeros in every step, and the backward pass must add to them: {advice}",
            heat=Heat.STEP,
            fix=dropping(self.module, node) if fixable else None,
        )


# Words of code that needs gradients to stay in their memory.
_NEEDED = ("CUDAGraph", "cuda.graph", "cudagraph", "cuda_graph", "graphed_callables", "bucket_view", "flatten_dense")
