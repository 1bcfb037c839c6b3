"""TL903: a model is trained on several GPUs by the threads of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.distributed import DATA_PARALLEL, ONE_PROCESS_EACH
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class DataParallel(Rule):
    id = "TL903"
    name = "data-parallel"
    summary = "`nn.DataParallel` copies the model to every GPU in each step"
    severity = Severity.INFO
    programs = ("training",)
    needs = (concepts.BACKWARD,)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "only a machine with several GPUs copies the model, and how long that takes is not recorded",
    )

    @on.call(*DATA_PARALLEL)
    def wraps(self, node: cst.Call) -> None:
        """Check a construction of ``DataParallel``."""
        import libcst as cst

        module = self.module
        if module.path.endswith(".ipynb") or module.in_test(node) or self._is_single(node):
            return
        if self._is_evaluated(node) or any(map(module.names_spelled, ONE_PROCESS_EACH)):
            return
        if not any(_is_backward(call) for call in module.iter_nodes(cst.Call, frozenset(("backward",)))):
            return
        self.report(
            node,
            f"`{module.code(node.func)}` copies the model to every GPU in each step and runs the copies in threads of "
            "one process: PyTorch recommends `DistributedDataParallel`, with a process for each GPU",
        )

    def _is_single(self, node: cst.Call) -> bool:
        """Whether the only device is given."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import argument, literal

        devices = argument(node, "device_ids", 1)
        if isinstance(devices, (cst.List, cst.Tuple)):
            return len(devices.elements) <= 1 and not any(isinstance(e, cst.StarredElement) for e in devices.elements)
        return isinstance(literal(devices), int) if devices is not None else False

    def _is_evaluated(self, node: cst.Call) -> bool:
        """Whether the wrapped model is put into evaluation mode at once, as models that are only used are."""
        import libcst as cst

        for below in (node, *self.module.ancestors(node)):
            if isinstance(below, cst.BaseStatement):
                break
            if isinstance(below, cst.Attribute) and below.attr.value in ("eval", "module", "requires_grad_"):
                return True
        if self._stays_in_evaluation(node):
            return True
        given = node.args[0].value if node.args else None
        return isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute) and given.func.attr.value == "eval"

    def _stays_in_evaluation(self, node: cst.Call) -> bool:
        """Whether the variable of the model is put into evaluation mode in its function, and never back."""
        import libcst as cst

        statement = self.module.parent(node)
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
        binding = self.module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self.module.uses(binding) if binding is not None else []
        reads = [parent.attr.value for use in uses if isinstance(parent := self.module.parent(use), cst.Attribute)]
        return "eval" in reads and "train" not in reads and not any(map(self._is_optimized, uses))

    def _is_optimized(self, use: cst.Name) -> bool:
        """Whether an optimizer gets the parameters of a model."""
        import libcst as cst

        from torchlint.analysis.values.lattice import Kind

        calls = [around for around in self.module.ancestors(use) if isinstance(around, cst.Call)]
        return any(self.module.value(call).kind is Kind.OPTIMIZER for call in calls)


def _is_backward(call: cst.Call) -> bool:
    from torchlint.analysis.syntax.calls import method

    return method(call) == "backward"
