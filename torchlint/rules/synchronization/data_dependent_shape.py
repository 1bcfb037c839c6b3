"""TL304: an operation on the device whose result has a size that the host must read in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.counted import Counted
    from torchlint.analysis.things.step import Step


class DataDependentShape(Rule):
    id = "TL304"
    name = "data-dependent-shape"
    summary = "An operation makes the host wait in every step for the size of its result"
    severity = Severity.INFO
    group = "advice"
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
    about_steps = True
    about_reads = True
    recipe = Recipe("synchronizations", "evidence", "these lines synchronize with the device, step after step", least=2)

    @on.step
    def counts(self, step: Step) -> None:
        """A loop or function that runs in every step; what the same mask selects is one finding."""
        if not step.counted or self.module.in_test(step.place):
            return
        from torchlint.rules.synchronization._selections import NeededResults, by_mask

        every = f"every {step.in_words}"
        for together in by_mask(self.module, self.module.shared(NeededResults).left_over(step)):
            first = together[0]
            if len(together) == 1 and first.kind in _SELECTIONS and not step.trains:
                continue  # a result of any length is what detectors and generators are for
            certain = first.kind == "one_hot" and step.trains
            self.report(
                first.node,
                self._message(together, every),
                evidence=[self.module.evidence(one.node, self._place(one)) for one in together],
                severity=Severity.WARNING if certain else Severity.INFO,
                heat=Heat.STEP,
            )

    def _message(self, together: list[Counted], every: str) -> str:
        from torchlint.rules.synchronization._selections import is_reduced

        first = together[0]
        written = self._written(first)
        waits = sum(one.waits for one in together)
        if len(together) > 1:
            return (
                f"{written} and {len(together) - 1} more with the same mask wait {waits} times for the GPU in {every}: "
                "index with `mask.nonzero(as_tuple=True)`, computed once, or weight all elements by the mask"
            )
        if first.kind == "mask" and is_reduced(self.module, first.node):
            return f"{written} {_WAITS['mask']} in {every}: keep all elements, and weight them by the mask"
        return f"{written} {_WAITS.get(first.kind, _WAITS['mask'])} in {every}: {_ADVICE[first.kind]}"

    def _written(self, counted: Counted) -> str:
        code = self.module.code(counted.node)
        return f"`{code}`" if len(code) <= 60 and "\n" not in code else _LONG[counted.kind]

    def _place(self, counted: Counted) -> str:
        return _EVIDENCE.get(counted.kind, "the host waits for the size of the result")


_SELECTIONS = frozenset({"mask", "indices", "unique", "bins"})
_WAITS = {
    "mask": "waits for the GPU to count the elements",
    "update": "waits twice for the GPU to count the elements",
    "one_hot": "waits for the GPU to find the largest label",
    "unique": "waits for the GPU to find the distinct values",
    "repeat": "waits for the GPU to add up the repetitions",
    "bins": "waits for the GPU to find the largest value",
}
_ADVICE = {
    "mask": "keep all elements and apply the mask by `torch.where`, or select before the data are moved",
    "write": "`torch.where` or `masked_scatter_` writes the same without counting",
    "update": "`torch.where` changes the same elements without counting",
    "indices": "use the mask itself (`torch.where` with three arguments, `masked_fill`), which needs no size",
    "unique": "compute them before the data are moved, for example in the dataset",
    "one_hot": "pass `num_classes`, without which the shape also depends on the batch",
    "repeat": "pass `output_size`, if the host knows the sum",
    "bins": "add ones into a tensor of known size with `scatter_add_`",
}
_LONG = {
    "mask": "this index by a mask",
    "write": "this write through a mask",
    "update": "this update through a mask",
    "indices": "this search for indices",
    "unique": "this search for distinct values",
    "one_hot": "this `one_hot`",
    "repeat": "this `repeat_interleave`",
    "bins": "this `bincount`",
}
_EVIDENCE = {
    "mask": "the selected elements are counted, and once more in the backward pass if there is a gradient",
    "write": "the selected elements are counted",
    "update": "the selected elements are counted to read them, and counted again to write them",
}
