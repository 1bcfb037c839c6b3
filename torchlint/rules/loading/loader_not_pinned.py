"""TL401: batches are copied to the GPU from pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER, OTHER_DEVICES
from torchlint.model import Evidence, Heat, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.batch_uses import BatchUses
    from torchlint.analysis.things.loader import Loader


_ASYNCHRONOUS = ", and move batches with `non_blocking=True`"


class LoaderNotPinned(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` without `pin_memory`, or with `pin_memory=False`, whose batches are moved to an
    accelerator: in a loop over it, in a function that it is passed to or returned to, or in a method that reads
    the attribute it is stored in; in the same file, or in any other that a program of the project gets to. A device
    chosen at run time (`"cuda" if torch.cuda.is_available() else "cpu"`) counts. So do frameworks that move the
    batches themselves, none of which pins them: the Trainer of Lightning (`train_dataloader`, `trainer.fit`), Fabric
    (`setup_dataloaders`), Accelerate (`prepare`), the Trainer of transformers (`get_train_dataloader` of a subclass),
    Ignite and poutyne.

    ## Why it costs
    The driver stages a transfer from pageable memory through its own pinned buffer, and such a copy cannot overlap
    with computation. With `pin_memory=True` the loader pins batches in a background thread, and the copy runs at
    full speed; together with `non_blocking=True` it is asynchronous. On an H200, copying four batches of 38.5 MB with a
    convolution of each took 6.0 ms from pinned memory, and 19.1 from pageable memory. One published measurement is 8 to
    10 % of an epoch on an RTX 2080 (kohya-ss/sd-scripts#1894); where transforms dominate, the gain is small.

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
    are no worker processes, or none by default, since the main process would then pin, and for loaders that are only
    used for evaluation, from which single batches are fetched now and then, or that a framework gets of which it is
    not known where it runs. The rule is silent in tests, where a framework runs on the CPU
    (`Trainer(accelerator="cpu")`), where `**kwargs` or a wrapper may set `pin_memory`, for loaders of other libraries,
    for batches that cannot be pinned (sparse, nested, already on the device, objects without `pin_memory`), and on
    accelerators other than CUDA, such as XLA and MPS.

    It is also silent where the host converts or joins every part of a batch before the move, as in
    `x.float().to(device)`: that is a new tensor in pageable memory, whatever the loader does, unless the dtype was
    float32 already (with torch 2.13, `data_ptr()` is the same only then), and the dtype of a batch is rarely known. The
    copies that are moved directly count, and so does `x.to(device, torch.float32)`, which converts on the device if it
    is given `non_blocking=True`.

    ## Fix safety
    The fix adds `pin_memory=torch.cuda.is_available()`, and `import torch` if it is missing. It is unsafe: pinned
    memory is not paged out, and pinning fails or has no effect for tensors on a device, sparse tensors and objects of
    other classes. There is no fix for calls with `*args` or `**kwargs`, in default arguments, and for loaders without
    workers.

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
    recipe = Recipe("pageable-batches", "finding", "batches are copied to the device from pageable memory")

    @on.loader
    def feeds(self, loader: Loader) -> None:
        """Check a data loader; its batches are tracked only if it does not pin."""
        if loader.name != LOADER or loader.pins is not False or loader.unpinnable or self._has_other_device():
            return
        used = loader.batch_uses
        used = used._replace(
            moves=tuple(move for move in used.moves if self.module.heat_analysis.may_run_again(move.loop)),
        )
        if used.pinned or self.module.in_test(loader.call):
            return
        if not used.any:
            self._followed(loader)
            return

        from torchlint.rules.loading._fixes import pin_memory

        evaluation = self._only_evaluates(used)
        certain = not evaluation and loader.has_workers and self._certain(used) and not self._is_rare(used)
        self.report(
            loader.call,
            self._message(loader, used, evaluation=evaluation),
            evidence=self._evidence(used),
            severity=Severity.WARNING if certain else Severity.INFO,
            fix=pin_memory(self.module, loader),
        )

    def _followed(self, loader: Loader) -> None:
        """Check a loader of which only following the program shows where its batches are copied."""
        feed = self.module.followed.feed(loader.call)
        if feed is None:
            return

        from torchlint.rules.loading._fixes import pin_memory

        trains = feed.phase == "training"
        where = f"in {feed.path}, line {feed.line}"
        self.report(
            loader.call,
            self._describe(
                loader,
                f"by {feed.by}, {where}" if feed.by else where,
                evaluation=not trains,
                advice="" if feed.by else _ASYNCHRONOUS,
            ),
            severity=Severity.WARNING if trains and loader.has_workers else Severity.INFO,
            fix=pin_memory(self.module, loader),
        )

    def _has_other_device(self) -> bool:
        return any(name in self.module.text for name in OTHER_DEVICES)

    def _certain(self, used: BatchUses) -> bool:
        """Whether some batches are known to be moved to an accelerator, rather than by a framework that may use one."""
        return bool(used.moves) or any(move.certain for move in used.framework_moves)

    def _is_rare(self, used: BatchUses) -> bool:
        """Whether single batches are fetched, and not in every step: ``next(iter(loader))`` for some pictures."""
        fetched = all(
            move.loop.__class__.__name__ == "Call" and self.module.heat(move.loop).rank < Heat.STEP.rank
            for move in used.moves
        )
        return bool(used.moves) and fetched and not used.framework_moves

    def _only_evaluates(self, used: BatchUses) -> bool:
        """Whether every loop that moves batches of the loader evaluates."""
        here = all(self._evaluates(move.loop) for move in used.moves)
        return here and all(move.evaluation for move in used.framework_moves)

    def _evaluates(self, loop: cst.CSTNode) -> bool:
        """Whether a loop over batches does not train."""
        if self.module.heat_analysis.evaluates(loop):
            return True

        from torchlint.analysis.scopes.flow import LOOPS

        followed = self.module.followed.step(loop) if isinstance(loop, LOOPS) else None
        return followed is not None and followed.phase != "training"

    def _message(self, loader: Loader, used: BatchUses, *, evaluation: bool) -> str:
        return self._describe(loader, self._place(used), evaluation=evaluation, advice=self._asynchronous(used))

    def _describe(self, loader: Loader, place: str, *, evaluation: bool, advice: str) -> str:
        given = loader.arguments("pin_memory")
        option = next((name for name, off in map(loader.option, given) if off is False), None)
        state = "sets `pin_memory=False`" if given else "does not set `pin_memory`"
        state = f"sets `pin_memory` only with `{option}`" if option else state
        what = f"this data loader {state}, and its batches are moved to the GPU {place}"
        if not loader.has_workers:
            return (
                f"{what}; without workers the main process itself would pin, so set `num_workers` first, then "
                "`pin_memory=torch.cuda.is_available()`"
            )
        kind = " (only for evaluation)" if evaluation else ""
        return (
            f"{what}{kind}: copies from pageable memory are slower and block the host; pass "
            f"`pin_memory=torch.cuda.is_available()`{advice}"
        )

    def _asynchronous(self, used: BatchUses) -> str:
        """How to make the copies asynchronous, unless a framework does so."""
        if used.moves:
            return _ASYNCHRONOUS
        advice = used.framework_moves[0].framework.advice
        return f", and set {advice}" if advice else ""

    def _place(self, used: BatchUses) -> str:
        """Who moves the batches, and where."""
        if used.moves:
            return f"on {self.module.line_in_words(used.moves[0].move)}"
        return f"by {used.framework_moves[0].framework.name}, which does not pin them"

    def _evidence(self, used: BatchUses) -> list[Evidence]:
        calls = dict.fromkeys(getattr(m.move.func, "attr", m.move) for m in used.moves)
        found = [self.module.evidence(call, "a batch is moved to the GPU here") for call in list(calls)[:5]]
        given = dict.fromkeys((move.node, move.framework.name) for move in used.framework_moves)
        return [*found, *(self.module.evidence(node, f"{name} gets the loader here") for node, name in list(given)[:5])]
