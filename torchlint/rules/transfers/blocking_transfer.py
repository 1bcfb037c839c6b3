"""TL202: a batch is moved to the device while the host waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.uploads import Upload


class BlockingTransfer(Rule):
    """
    ## What it finds
    `x.to(device)` and `x.cuda()` without `non_blocking=True`, where `x` is a tensor of a batch that a loop over a
    data loader has just yielded.

    ## Why it costs
    The host waits for the copy, and for everything that was queued before it. With `non_blocking=True` it goes on
    and queues the step. From pinned memory the copy itself is asynchronous as well, which is what the loader's
    `pin_memory=True` is paid for: with a blocking copy half of that is lost. From pageable memory only the wait
    after staging is saved.

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
    Where the loader does not pin, little is gained: the rule then speaks at `info`, and so it does where the loader
    is not in sight. It is silent for moves to the CPU, which must not be asynchronous; for batches of other
    libraries, which do not all take the keyword; where the framework moves the batches; and where the tensor is
    written to in place; for batches that lie on the device already, as those of a `TensorDataset` of tensors there;
    and for accelerators other than CUDA: on MPS and XPU asynchronous copies are not protected, keep them blocking.

    ## Fix safety
    `non_blocking=True` is added. Safe where the target is CUDA, the tensor comes from torch's own `DataLoader` with
    default collation, nothing but the move reads it, and no streams are in use. Otherwise unsafe: what is written to
    meanwhile arrives changed, and on MPS and XPU the source is not protected.

    ## Confirmed by
    A synchronisation at the line in every step, and a shorter step without it.

    ## Sources
    - [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
    - [intel/torch-xpu-ops#5217](https://github.com/intel/torch-xpu-ops/issues/5217)
    """

    id = "TL202"
    name = "blocking-transfer"
    summary = "A batch is moved to the device with a blocking copy"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.MOVE, concepts.LOADERS)
    layout = False
    recipe = Recipe("blocking-uploads", "evidence", "copies to the device that block the host", least=2, share=0.01)

    def visit_Module(self, node: cst.Module) -> None:  # noqa: ARG002 - statements are found through their moves
        from torchlint.analysis.things.uploads import Uploads

        for upload in self.module.shared(Uploads).found():
            from torchlint.rules.transfers._fixes import asynchronous

            first = upload.moves[0]
            self.report(
                first,
                self._message(upload),
                evidence=self._evidence(upload),
                severity=Severity.INFO if upload.pinned is None else Severity.WARNING,
                heat=self.module.heat(first),
                fix=asynchronous(self.module, upload),
            )

    def _message(self, upload: Upload) -> str:
        what = "this copy blocks the host until all queued work finishes, in every step"
        if upload.pinned is None:
            return f"{what}: set `pin_memory=True` in the loader, and `non_blocking=True` here"
        place = upload.pinned if isinstance(upload.pinned, str) else f"line {self.module.line(upload.pinned)}"
        return f"{what}, although the loader uses pinned memory ({place}): add `non_blocking=True`"

    def _evidence(self, upload: Upload) -> list[Evidence]:
        found = [self.module.evidence(move, "this copy blocks as well") for move in upload.moves[1:]]
        if upload.pinned is not None and not isinstance(upload.pinned, str):
            found.append(self.module.evidence(upload.pinned, "this loader uses pinned memory"))
        return found
