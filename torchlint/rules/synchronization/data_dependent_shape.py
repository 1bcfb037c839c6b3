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
    """
    ## What it finds
    Operations on a device tensor, in every step, whose result has a size that depends on the values in the tensor:
    indexing with a boolean mask (`x[mask]`, `x[mask] = values`, `x[mask] += 1`), `masked_select`, `nonzero`,
    `argwhere`, `torch.where` with one argument, `unique`, `bincount`, `repeat_interleave` with a tensor of repetitions
    and without `output_size`, and `one_hot` without `num_classes`. Several operations with the same mask are one
    finding. `sync-in-hot-loop` says which tensors count as being on the device.

    ## Why it costs
    Python needs the shape of a tensor before it can continue. The device therefore computes the size, and the host
    copies it, which blocks until all queued work has finished; the device then idles until the host has queued more.
    With autograd, indexing with a boolean mask waits a second time in the backward pass. `x[mask] += 1` waits twice,
    once to read the elements and once to write them back. `one_hot` without `num_classes` reads the largest label, and
    returns fewer columns for a batch that lacks the last class.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer, device):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            known = y >= 0
            loss = torch.nn.functional.mse_loss(model(x)[known], y[known])
            loss.backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer, device):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            known = y >= 0
            error = torch.nn.functional.mse_loss(model(x), y, reduction="none")
            loss = error.masked_fill(~known, 0).sum() / known.sum()
            loss.backward()
            optimizer.step()
    ```

    If the selected elements themselves are needed, `index = mask.nonzero(as_tuple=True)` waits once, and any number of
    selections `x[index]` then do not wait, not even in the backward pass. Other ways to keep the size fixed are
    `ignore_index` of the losses, `torch.where` with three arguments, `masked_fill`, and `output_size` of
    `repeat_interleave`, if the host knows the sum. Labels can be selected or counted while they are still on the host,
    in the dataset or in `collate_fn`.

    ## When to leave it
    Where a result of varying length is the point, as in matching targets with anchors, and where the mask leaves out
    most elements, so that computing all of them would take longer than the wait. In steps that do not train, only
    operations with an equivalent of fixed size, and repeated uses of the same mask, are reported.

    The rule is silent for a number that is written through a mask (`x[mask] = 0` fills without counting), for
    `torch.where` with three arguments and `masked_fill`, and for tensors on the CPU; where the host reads or iterates
    over the result anyway (`sync-in-hot-loop` and `tensor-in-control-flow` report that); in compiled code
    (`graph-break-in-compiled`); in functions that suppress overlapping boxes (`nms`); under conditions that hold only
    every N steps; in tests; and for code that runs once or once per epoch.

    ## Fix safety
    There is no fix: sums over masked elements are rounded differently, `NaN` times zero stays `NaN`, and the number of
    classes is not visible in the code.

    ## Confirmed by
    Synchronizations at these lines in each step. On the simulated device (torch 2.13), a step of the first loop above
    waits three times, once for each index and once in the backward pass, and a step of the second one never;
    `x[mask] += 1` waits twice. The simulated device counts the waits that ATen's CUDA sources contain; only a GPU can
    show how long they are.

    ## Sources
    - [pytorch/pytorch#12461](https://github.com/pytorch/pytorch/issues/12461), [pytorch/pytorch#131256](https://github.com/pytorch/pytorch/issues/131256)
    - [torch.nonzero](https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html), [torch.repeat_interleave](https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html)
    """

    id = "TL304"
    name = "data-dependent-shape"
    summary = "An operation makes the host wait in every step for the size of its result"
    severity = Severity.INFO
    group = "advice"
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
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
