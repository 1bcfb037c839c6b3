"""TL401: batches go to the GPU from pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.loaders import UnpinnedLoader


class LoaderNotPinned(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` without `pin_memory`, or with `pin_memory=False`, whose batches are moved to an
    accelerator: in a loop over it, in a function that it is passed to or returned to, or in a method that reads
    the attribute it is stored in; in the same file, or in another one that is linted in the same run. A device
    chosen at run time (`"cuda" if torch.cuda.is_available() else "cpu"`) counts.

    ## Why it costs
    The driver stages a transfer from pageable memory through its own pinned buffer, and such a copy cannot overlap
    with computation. With `pin_memory=True` the loader pins batches in a background thread, and the copy runs at
    full speed; together with `non_blocking=True` it is asynchronous. One published measurement is 8 to 10 % of an
    epoch on an RTX 2080 (kohya-ss/sd-scripts#1894); where transforms dominate, the gain is small.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch.utils.data import DataLoader


    def train(dataset, model, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4)
        for x, y in loader:
            model(x.to(device), y.to(device)).backward()
    ```

    Preferred:

    ```python
    import torch
    from torch.utils.data import DataLoader


    def train(dataset, model, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=torch.cuda.is_available())
        for x, y in loader:
            model(x.to(device, non_blocking=True), y.to(device, non_blocking=True)).backward()
    ```

    ## When to leave it
    On hosts that are short of memory, or in containers that limit locked memory. The finding is an `info` if there
    are no worker processes, since the main process would then pin, and for loaders that are only used for
    evaluation. The rule is silent where `**kwargs` or a wrapper may set `pin_memory`, for loaders of other
    libraries, for batches that cannot be pinned (sparse, nested, already on the device, objects without
    `pin_memory`), and on accelerators other than CUDA, such as XLA and MPS.

    ## Fix safety
    `pin_memory=torch.cuda.is_available()` is added, with `import torch` if the file lacks it. Safe where the batches
    are proved to be plain tensors of the CPU (torchvision's datasets with torchvision's transforms, a `TensorDataset`
    of such tensors, default collation) and are moved in sight. Otherwise unsafe: objects of other classes, sparse
    tensors and tensors that are on a device already may not be pinned. Replacing a written `pin_memory=False` is
    unsafe. Never offered for calls with `*args` or `**kwargs`, and for loaders without workers.

    ## Confirmed by
    Tensors that enter `.to` are not pinned, and the time of pageable copies is a material share of the step.

    ## Sources
    - [torch.utils.data, memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning)
    - [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
    - [kohya-ss/sd-scripts#1894](https://github.com/kohya-ss/sd-scripts/issues/1894)
    """

    id = "TL401"
    name = "loader-not-pinned"
    summary = "A data loader feeds the GPU from pageable memory"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (identifiers("DataLoader"),)
    layout = False
    recipe = Recipe("pageable-batches", "finding", "batches are copied to the device from pageable memory", share=0.01)

    @on.within("DataLoader")
    def visit_Call(self, node: cst.Call) -> None:
        from torchlint.analysis.things.loaders import Loaders

        loader = self.module.shared(Loaders).unpinned(node)
        if loader is None:
            return

        from torchlint.rules.loading._fixes import pinned

        hint = not loader.workers or loader.evaluation
        self.report(
            node,
            self._message(loader),
            evidence=self._evidence(loader),
            severity=Severity.INFO if hint else Severity.WARNING,
            fix=pinned(self.module, loader),
        )

    def _message(self, loader: UnpinnedLoader) -> str:
        place = f"on line {self.module.line(loader.moves[0].move)}" if loader.moves else self._elsewhere(loader)
        state = "sets `pin_memory=False`" if loader.explicit else "does not set `pin_memory`"
        what = f"this data loader {state}, and its batches are moved to the GPU {place}"
        if not loader.workers:
            return (
                f"{what}; without workers the main process itself would pin, so set `num_workers` first, then "
                "`pin_memory=torch.cuda.is_available()`"
            )
        kind = " (only for evaluation)" if loader.evaluation else ""
        return (
            f"{what}{kind}: copies from pageable memory are slower and block the host; pass "
            "`pin_memory=torch.cuda.is_available()`, and move batches with `non_blocking=True`"
        )

    def _elsewhere(self, loader: UnpinnedLoader) -> str:
        first = min(loader.elsewhere, key=lambda e: (e.path, e.line))
        return f"in {first.path}, line {first.line}"

    def _evidence(self, loader: UnpinnedLoader) -> list[Evidence]:
        moves = dict.fromkeys(getattr(m.move.func, "attr", m.move) for m in loader.moves)
        return [self.module.evidence(move, "a batch is moved to the GPU here") for move in list(moves)[:5]]
