"""TL401: batches are copied to the GPU from pageable memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER, OTHER_DEVICES
from torchlint.model import Evidence, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.batch_flow import BatchMove, MoveElsewhere
    from torchlint.analysis.things.loader import Loader


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
    The fix adds `pin_memory=torch.cuda.is_available()`, and `import torch` if it is missing. It is safe if the
    batches are proved to be plain CPU tensors (torchvision datasets with torchvision transforms, or a
    `TensorDataset` of such tensors, with default collation) and visible code moves them. Otherwise it is unsafe:
    objects of other classes, sparse tensors and tensors that are already on a device may not support pinning.
    Replacing an explicit `pin_memory=False` is unsafe. There is no fix for calls with `*args` or `**kwargs`, and
    for loaders without workers.

    ## Confirmed by
    Tensors passed to `.to` are not pinned, and copies from pageable memory take a significant share of the step.

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
    layout = False
    recipe = Recipe("pageable-batches", "finding", "batches are copied to the device from pageable memory", share=0.01)

    @on.loader
    def feeds(self, loader: Loader) -> None:
        """Check a data loader; its batches are tracked only if it does not pin."""
        if loader.name != LOADER or loader.pins is not False or loader.unpinnable or self._has_other_device():
            return
        used = loader.batch_uses
        moves = [move for move in used.moves if self.module.heat_analysis.may_run_again(move.loop)]
        if used.pinned or not (moves or used.moves_elsewhere):
            return

        from torchlint.rules.loading._fixes import pin_memory

        evaluation = self._only_evaluates(moves, used.moves_elsewhere)
        self.report(
            loader.call,
            self._message(loader, moves, evaluation=evaluation),
            evidence=self._evidence(moves),
            severity=Severity.INFO if evaluation or not loader.has_workers else Severity.WARNING,
            fix=pin_memory(self.module, loader, only_moved_here=bool(moves) and not used.moves_elsewhere),
        )

    def _has_other_device(self) -> bool:
        return any(name in self.module.text for name in OTHER_DEVICES)

    def _only_evaluates(self, moves: list[BatchMove], elsewhere: Iterable[MoveElsewhere]) -> bool:
        """Whether every loop that moves batches of the loader evaluates."""
        here = all(self.module.heat_analysis.evaluates(move.loop) for move in moves)
        return here and all(place.evaluation for place in elsewhere)

    def _message(self, loader: Loader, moves: list[BatchMove], *, evaluation: bool) -> str:
        place = f"on line {self.module.line(moves[0].move)}" if moves else self._elsewhere(loader)
        state = "sets `pin_memory=False`" if loader.arguments("pin_memory") else "does not set `pin_memory`"
        what = f"this data loader {state}, and its batches are moved to the GPU {place}"
        if not loader.has_workers:
            return (
                f"{what}; without workers the main process itself would pin, so set `num_workers` first, then "
                "`pin_memory=torch.cuda.is_available()`"
            )
        kind = " (only for evaluation)" if evaluation else ""
        return (
            f"{what}{kind}: copies from pageable memory are slower and block the host; pass "
            "`pin_memory=torch.cuda.is_available()`, and move batches with `non_blocking=True`"
        )

    def _elsewhere(self, loader: Loader) -> str:
        first = min(loader.batch_uses.moves_elsewhere, key=lambda e: (e.path, e.line))
        return f"in {first.path}, line {first.line}"

    def _evidence(self, moves: list[BatchMove]) -> list[Evidence]:
        calls = dict.fromkeys(getattr(m.move.func, "attr", m.move) for m in moves)
        return [self.module.evidence(call, "a batch is moved to the GPU here") for call in list(calls)[:5]]
