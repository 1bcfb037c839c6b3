"""TL204: the host reads memory that an asynchronous copy from the device may not have filled yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.move import Move


class UnsafeNonblockingDownload(Rule):
    """
    ## What it finds
    A copy to the host by `x.to("cpu", non_blocking=True)`, or by `buffer.copy_(x, non_blocking=True)` into a pinned
    buffer, that the host reads before anything waits for the device. Reading means `.tolist()`, `.item()`, `float(..)`,
    arithmetic, NumPy functions, printing, storing it in another tensor on the host, or `torch.cat` of a list that it
    was appended to.

    ## Why it costs
    The values may be wrong. The copy is only queued: PyTorch allocates pinned memory on the host for it and returns the
    tensor before the device has written to that memory, so the host may read whatever was there before. Whether it does
    depends on how far the device is behind, so tests often pass. Copies in the other direction are safe: kernels that
    use them are queued after the copy.

    ## Instead
    Flagged:

    ```python
    import torch


    def predict(model, images):
        scores = model(images.cuda()).to("cpu", non_blocking=True)
        return scores.tolist()


    predict(torch.nn.Linear(4, 2).cuda(), torch.randn(8, 4))
    ```

    Preferred:

    ```python
    import torch


    def predict(model, images):
        scores = model(images.cuda()).to("cpu")
        return scores.tolist()


    predict(torch.nn.Linear(4, 2).cuda(), torch.randn(8, 4))
    ```

    If the host has other work to do during the copy, keep the argument, and wait before the first read: with
    `torch.cuda.current_stream().synchronize()`, or with `synchronize()` of an event that was recorded after the copy.

    ## When to leave it
    Never. If the tensor is always on the CPU, the argument has no effect and can go as well.

    The rule follows the copy through views, variables, lists and dicts of one function, up to the first read. It is
    silent where anything in between may wait for the device: `synchronize`, a blocking copy, `.item()` of another
    tensor, a condition on a device tensor, or an unknown function. It is also silent for copies to pageable memory, for
    which CUDA waits, and where the result is only returned, stored or passed on.

    ## Fix safety
    Removing `non_blocking=True` makes the host wait for the copy, and read the values that the program means. It is
    unsafe, since an object of another class may need the argument.

    ## Confirmed by
    Asynchronous copies to the host at the line. A run cannot prove that values are wrong: it is a race.

    ## Sources
    - [A guide on good usage of non_blocking and pin_memory, other copy directions](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html#other-copy-directions-gpu-cpu-cpu-mps)
    - [pytorch/pytorch#86264](https://github.com/pytorch/pytorch/issues/86264)
    - [pytorch/pytorch#140296](https://github.com/pytorch/pytorch/issues/140296)
    - [pytorch/pytorch#185252](https://github.com/pytorch/pytorch/pull/185252): Inductor had the same race
    - [stepfun-ai/SteptronOss#38](https://github.com/stepfun-ai/SteptronOss/pull/38): a repair
    """

    id = "TL204"
    name = "unsafe-nonblocking-download"
    summary = "The host reads a copy from the device that may not have arrived"
    severity = Severity.ERROR
    fix = "always"
    needs = (concepts.TORCH, identifiers("non_blocking"), identifiers("cpu copy_"))
    layout = False
    recipe = Recipe("asynchronous-downloads", "finding", "copies to the host for which the host does not wait")

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move that may be an asynchronous copy to the host."""
        from torchlint.rules.transfers._downloads import Downloads

        downloads = self.module.shared(Downloads)
        read = downloads.first_read(move) if downloads.is_download(move) else None
        if read is None:
            return
        from torchlint.rules.transfers._fixes import make_blocking

        self.report(
            move.call,
            f"this copy is only queued, and {self._reader(move.call, read)} reads it before anything waits for "
            "the device, so the values may be wrong: remove `non_blocking=True`, or synchronize first",
            evidence=[self.module.evidence(read, "reads the copy")],
            fix=make_blocking(self.module, move),
        )

    def _reader(self, copy: cst.Call, read: cst.CSTNode) -> str:
        """The expression that reads, in words."""
        import libcst as cst

        if any(around is read for around in self.module.ancestors(copy)):
            if not isinstance(read, cst.Call):
                return "the expression around it"
            called = read.func
            return f"`{f'.{called.attr.value}' if isinstance(called, cst.Attribute) else self.module.code(called)}(..)`"
        text = " ".join(self.module.code(read).split())
        shown = f"`{text}`" if len(text) < 60 else "the expression"
        return f"{shown} on {self.module.line_in_words(read)}"
