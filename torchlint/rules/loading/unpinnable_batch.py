"""TL407: a loader pins memory, but its batches are objects that cannot be pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loader import Loader


class UnpinnableBatch(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` with `pin_memory=True` whose `collate_fn` returns, on every path, an instance of a
    class of the file without a `pin_memory()` method, or NumPy arrays: alone, or in a tuple, a list or a dictionary of
    nothing else.

    ## Why it costs
    The loader pins tensors in mappings, sequences and named tuples, and calls `pin_memory()` of objects that have it.
    Anything else is returned as it is, without a warning (`torch/utils/data/_utils/pin_memory.py`, torch 2.13). So the
    batches stay in pageable memory: copies to the GPU take longer, and make the host wait even with
    `non_blocking=True`. With torch 2.13, a loader called `Tensor.pin_memory()` twice for a tuple of two tensors, twice
    for a data class with the method, and never for the same data class without it. Only a run on a GPU can show what a
    copy from pageable memory costs.

    ## Instead
    Flagged:

    ```python
    from dataclasses import dataclass

    import torch
    from torch.utils.data import DataLoader


    @dataclass
    class Batch:
        x: torch.Tensor


    def collate(samples):
        return Batch(torch.stack(samples))


    def make_loader(dataset):
        return DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=collate)
    ```

    Preferred:

    ```python
    from dataclasses import dataclass

    import torch
    from torch.utils.data import DataLoader


    @dataclass
    class Batch:
        x: torch.Tensor

        def pin_memory(self):
            self.x = self.x.pin_memory()
            return self


    def collate(samples):
        return Batch(torch.stack(samples))


    def make_loader(dataset):
        return DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=collate)
    ```

    ## When to leave it
    Where the batches never go to a GPU; then drop `pin_memory=True`. The rule is silent for classes that derive from
    classes of other files and libraries or define `__getattr__`, for batches that contain anything else, and where it
    is not known whether the loader pins.

    ## Fix safety
    There is no fix: only the author of the class knows which of its members to pin.

    ## Confirmed by
    Copies of the loader's batches to the device, from pageable memory.

    ## Sources
    - [torch.utils.data, memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning)
    - [pytorch/pytorch#16743](https://github.com/pytorch/pytorch/pull/16743)
    - [ai2cm/ace#628](https://github.com/ai2cm/ace/issues/628)
    - [open-mmlab/mmdetection#11417](https://github.com/open-mmlab/mmdetection/issues/11417)
    """

    id = "TL407"
    name = "unpinnable-batch"
    summary = "A data loader with `pin_memory=True` returns batches that it cannot pin"
    severity = Severity.WARNING
    group = "preview"
    needs = (identifiers("pin_memory"), identifiers("collate_fn"))
    layout = False
    recipe = Recipe("pageable-batches", "finding", "batches are copied to the device from pageable memory")

    @on.loader
    def pins(self, loader: Loader) -> None:
        """Check a loader that pins memory."""
        if loader.name != LOADER or loader.pins is not True or not loader.arguments("collate_fn"):
            return
        from torchlint.rules.loading._unpinnable import Unpinnable

        found = self.module.shared(Unpinnable).batch_of(loader)
        if found is None:
            return
        what = f"`{found.owner}`, which has no `pin_memory()` method" if found.owner else "NumPy arrays"
        advice = "define one" if found.owner else "return tensors"
        self.report(
            loader.call,
            f"`pin_memory=True` has no effect: the `collate_fn` of this loader returns {what}, so its batches stay in "
            f"pageable memory; {advice}, or drop `pin_memory`",
            evidence=[self.module.evidence(found.result, "this is the batch")],
        )
