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
    Operations on a tensor on an accelerator, in every step, whose result has a size that depends on what is in the
    tensor: an index that is a boolean mask (`x[mask]`, `x[mask] = values`, `x[mask] += 1`), `masked_select`,
    `nonzero`, `argwhere`, `torch.where` with one argument, `unique`, `bincount`, `repeat_interleave` with a tensor
    of repetitions and without `output_size`, `one_hot` without the number of classes. Operations that use the same
    mask are one finding. Which tensors count as being on an accelerator is what `sync-in-hot-loop` says.

    ## Why it costs
    Python must know the shape of a tensor before it can go on. So the size is computed on the device and copied to
    the host, which blocks until all queued work finishes; the device then idles until the host has queued more.
    With autograd, an index that is a boolean mask waits once more in the backward pass, and `x[mask] += 1` waits
    twice: it reads the elements, and writes them back. `one_hot` without the number of classes reads the largest
    label, and gives a batch without the last class fewer columns.

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

    Where the selected elements themselves are needed, `index = mask.nonzero(as_tuple=True)` waits once, and any
    number of indices `x[index]` do not wait, neither here nor in the backward pass. Losses skip targets with
    `ignore_index`; `torch.where` with three arguments and `masked_fill` keep all sizes; `repeat_interleave` takes
    `output_size`, where the host knows the sum; labels can be selected or counted while they are still on the host,
    in the dataset or in the collate function.

    ## When to leave it
    Where a result of varying length is the point, as where targets are matched with anchors, and where most
    elements are left out, so that computing all of them would cost more than the wait. That is why findings are
    `info`, except for `one_hot`, and why steps that do not train are searched only for what has a form of known
    size or the same mask several times. The rule is silent in functions that suppress overlapping boxes (`nms`),
    for a number that is written through a mask (`x[mask] = 0`, which fills without counting), for `torch.where`
    with three arguments and `masked_fill`, for tensors on the CPU, where the result itself is read by the host in
    the same expression (which is `sync-in-hot-loop` or `tensor-in-control-flow`) or iterated over, in compiled code
    (which is `graph-break-in-compiled`), under conditions that hold only every N steps, in tests, and for what runs
    once or once per epoch.

    ## Fix safety
    No fix is offered: sums over masked elements are rounded differently, `NaN` times zero stays `NaN`, and the
    number of classes is not visible in the code.

    ## Confirmed by
    Synchronizations at these lines in each step. On the simulated device, with torch 2.13, a step of the first loop
    above waits three times, once for each index and once in the backward pass, and a step of the second one never;
    `x[mask] += 1` waits twice. How often an operation waits there is what ATen's sources for CUDA say; how long,
    only a GPU shows.

    ## Sources
    - [pytorch/pytorch#12461](https://github.com/pytorch/pytorch/issues/12461), [pytorch/pytorch#131256](https://github.com/pytorch/pytorch/issues/131256)
    - [torch.nonzero](https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html), [torch.repeat_interleave](https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html)
    """

    id = "TL304"
    name = "data-dependent-shape"
    summary = "The host waits in every step for a size that the device computes"
    severity = Severity.INFO
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
    recipe = Recipe("synchronisations", "evidence", "these lines synchronize with the device, step after step", least=2)

    @on.step
    def counts(self, step: Step) -> None:
        """A loop or function that runs in every step; what the same mask selects is one finding."""
        if not step.counted or self.module.in_test(step.place):
            return
        from torchlint.rules.synchronisation._selections import NeededResults, by_mask

        every = "every training step" if step.trains else "every step"
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
        from torchlint.rules.synchronisation._selections import is_reduced

        first = together[0]
        written = self._written(first)
        waits = sum(one.waits for one in together)
        if len(together) > 1:
            return (
                f"{written} and {len(together) - 1} more by the same mask wait {waits} times for the GPU in {every}: "
                "compute `index = mask.nonzero(as_tuple=True)` once and index with it, or weigh all elements by it"
            )
        if first.kind == "mask" and is_reduced(self.module, first.node):
            return f"{written} {_WAITS['mask']} in {every}: keep all elements, and let the mask weigh them"
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
    "mask": "keep all elements and let the mask weigh or replace them, or select where it is still on the host",
    "write": "`torch.where` or `masked_scatter_` write the same without counting",
    "update": "`torch.where` changes the same elements without counting",
    "indices": "work with the mask itself (`torch.where` with three arguments, `masked_fill`), which needs no size",
    "unique": "prepare them where the values are still on the host, as in the dataset",
    "one_hot": "pass the number of classes, without which the shape also depends on the batch",
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
