"""TL202: a blocking copy moves a batch to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._blocking import Upload


_WHAT = "this copy blocks the host until all queued work finishes, in every step"


class BlockingTransfer(Rule):
    """
    ## What it finds
    `x.to(device)`, `x.cuda()` and `buffer.copy_(x)` without `non_blocking=True`, where `x` is a tensor of a batch
    from a loop over a data loader, or from `next`; also in a function if all its calls pass such tensors. What
    following the program shows to be a batch counts, in whatever file its loader is. Parts of a batch that are
    joined on the host before the move (`torch.cat(views).to(device)`) are an `info`: the result is not pinned,
    whatever the loader does, and `non_blocking=True` is not enough (TL207). So are batches that a training step
    cuts from a tensor on the host itself, without a loader: `data[i : i + n].to(device)`.

    ## Why it costs
    The copy blocks the host until it is done, together with everything that was queued before it. With
    `non_blocking=True` and pinned memory, the host goes on and queues the step. From pageable memory it still waits
    until the data is staged.

    What that is worth depends on what the host does meanwhile. On an H200, copies of 9.6 MB from pinned memory beside
    work of the host took 0.95 ms instead of 1.14. Where the host had nothing else to do, four batches of 38.5 MB
    and a convolution of each took 5.91 ms instead of 6.03; from pageable memory, 19 ms either way.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch.utils.data import DataLoader


    def train(dataset, model, device):
        for x, y in DataLoader(dataset, num_workers=4, pin_memory=True):
            model(x.to(device), y.to(device)).backward()
    ```

    Preferred:

    ```python
    import torch
    from torch.utils.data import DataLoader


    def train(dataset, model, device):
        for x, y in DataLoader(dataset, num_workers=4, pin_memory=True):
            model(x.to(device, non_blocking=True), y.to(device, non_blocking=True)).backward()
    ```

    ## When to leave it
    If the loader does not pin memory, nothing is gained before it does, and the finding is an `info`; so it is if
    the loader is not known. The rule is silent in tests; for moves to the CPU, which must not
    be asynchronous; for batches of other libraries, not all of which accept the keyword; where the framework moves
    the batches; where the host converts the tensor first, as in `x.float().to(device)`, which is not pinned unless
    the dtype was float32 already (if that makes it larger, see TL107); where the tensor is written to in place;
    for batches that are already on the device, such as those of a `TensorDataset` of GPU tensors; and for
    accelerators other than CUDA: MPS and XPU do not protect asynchronous copies, so keep them blocking.

    ## Fix safety
    `non_blocking=True` is added where the loader pins memory. If it does not, and is made with workers in the same
    file, the fix also pins it (TL401), since CUDA copies from pageable memory only after all queued work is done, with
    or without the argument. In other cases there is no fix. It is unsafe: a write to the batch on the host before its
    copy is done would change the copy.

    ## Confirmed by
    A synchronization at the line in every step, and a shorter step without it.

    ## Sources
    - [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
    - [intel/torch-xpu-ops#5217](https://github.com/intel/torch-xpu-ops/issues/5217)
    """

    id = "TL202"
    name = "blocking-transfer"
    summary = "A batch is moved to the device with a blocking copy"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, any_of(concepts.LOADERS, concepts.BACKWARD))
    layout = False
    recipe = Recipe("blocking-uploads", "evidence", "copies to the device that block the host", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a call of ``to`` or ``cuda``. All moves in one statement are one finding."""
        from torchlint.rules.transfers._blocking import Uploads

        uploads = self.module.shared(Uploads).starting_with(move)
        if not uploads:
            self._cut(move)
            return
        if self.module.in_test(move.call):
            return

        from torchlint.rules.transfers._fixes import make_asynchronous

        self.report(
            move.call,
            self._message(uploads[0]),
            evidence=self._evidence(uploads),
            severity=Severity.WARNING if uploads[0].pinned else Severity.INFO,
            heat=self.module.heat(move.call),
            fix=None if any(upload.computed for upload in uploads) else make_asynchronous(self.module, uploads),
        )

    def _cut(self, move: Move) -> None:
        """Check a move of a part of a tensor that exists before the step."""
        from torchlint.rules.transfers._cuts import Cuts

        cuts = self.module.shared(Cuts).starting_with(move)
        if cuts:
            name = cuts[0].whole.value
            self.report(
                move.call,
                f"{_WHAT}: keep `{name}` on the device, if its memory has room, and cut the batch there",
                evidence=[self.module.evidence(cut.move.call, "this copy blocks as well") for cut in cuts[1:]],
                severity=Severity.INFO,
                heat=self.module.heat(move.call),
            )

    def _message(self, upload: Upload) -> str:
        if upload.batch is None and self.module.followed.copy(upload.move.call) == "array":
            return f"{_WHAT}: let a `DataLoader` with pinned memory make the batch, and set `non_blocking=True` here"
        if upload.computed is not None:
            return f"{_WHAT}, since joining gives unpinned memory: join in the loader's `collate_fn`, or on the device"
        if upload.made:
            return f"{_WHAT}: no data loader makes this batch and pins it, so `non_blocking=True` alone gains nothing"
        if upload.pinned is False:
            return (
                f"{_WHAT}: set `pin_memory=True` in the loader first, without which `non_blocking=True` gains nothing"
            )
        if upload.pinned is None:
            return f"{_WHAT}: set `non_blocking=True`, which helps if a data loader with `pin_memory=True` makes it"
        place = f" ({self.module.line_in_words(upload.pinned)})" if upload.pinned != "elsewhere" else ""
        return f"{_WHAT}, although the loader uses pinned memory{place}: add `non_blocking=True`"

    def _evidence(self, uploads: list[Upload]) -> list[Evidence]:
        found = [self.module.evidence(upload.move.call, "this copy blocks as well") for upload in uploads[1:]]
        pinned = uploads[0].pinned
        if pinned and pinned != "elsewhere":
            found.append(self.module.evidence(pinned, "this loader uses pinned memory"))
        return found
