"""TL206: a tensor is copied to the host whole, and reduced there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._reductions import HostReduction


class CopyBeforeReduce(Rule):
    """
    ## What it finds
    A tensor that every step copies from the device to the host, and of which the host only needs a reduction or a part:
    `logits.cpu().argmax(1)`, `np.mean(x.detach().cpu().numpy())`, `x.cpu()[:, -1]`, `(pred.cpu() == y.cpu()).sum()`, in
    one expression or through a variable with a single use.

    ## Why it costs
    The logits of a language model or of a segmentation can have hundreds of megabytes, while the result has a few
    numbers; and the device reduces faster than the CPU. With torch 2.13 on one CPU core, `argmax(1)` of 256 x 50,257
    floats (51 MB) took 37 ms, and its result has 2 kB. For a tensor of a few thousand elements nothing is gained: its
    copy takes about as long as that of a single number.

    ## Instead
    Flagged:

    ```python
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


    @torch.no_grad()
    def predict(model, loader):
        model.to(device)
        found = []
        for x in loader:
            found.append(model(x.to(device)).cpu().argmax(1))
        return torch.cat(found)
    ```

    Preferred:

    ```python
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


    @torch.no_grad()
    def predict(model, loader):
        model.to(device)
        found = []
        for x in loader:
            found.append(model(x.to(device)).argmax(1).cpu())
        return torch.cat(found)
    ```

    ## When to leave it
    Where the tensor is small, where results must equal those of NumPy or the CPU to the last bit, and where the device
    has no memory for the reduction. All findings are `info`, since the size of a tensor is rarely known.

    The rule is silent where the host also uses the tensor in other ways, for losses, for the first element (it may be
    the only one), for metrics of other libraries, in tests, and for code that does not run in every step.

    ## Fix safety
    There is no fix: sums and means may differ in the last bits, `argmax` may choose another one of several equal
    values, and a NumPy reduction returns a number where a tensor's returns a tensor.

    ## Confirmed by
    Several copies to the host at the line, of more than 64 KiB each on average. On the simulated device, 8 batches of 4
    rows of 20,000 logits take 2.6 MB. Only a GPU can show how long the copies take.

    ## Sources
    - [Performance tuning guide, avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization)
    - [CUDA C++ best practices, data transfer between host and device](https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#data-transfer-between-host-and-device)
    """

    id = "TL206"
    name = "copy-before-reduce"
    summary = "A whole tensor is copied to the host, only to be reduced there"
    severity = Severity.INFO
    needs = (concepts.TORCH, concepts.HOT)
    layout = False
    recipe = Recipe("whole-downloads", "finding", "what is copied to the host is reduced there", least=2)

    @on.move
    def reduces(self, move: Move) -> None:
        """Check a call of ``cpu`` or ``to``."""
        if self.module.in_test(move.call):
            return
        from torchlint.rules.transfers._reductions import HostReductions

        found = self.module.shared(HostReductions).of(move)
        if found is None:
            return
        apart = self.module.line(found.place) != self.module.line(move.call)
        self.report(
            move.call,
            self._message(found),
            evidence=[self.module.evidence(found.place, "the CPU reduces it here")] if apart else [],
            heat=Heat.STEP,
        )

    def _message(self, found: HostReduction) -> str:
        what = "the whole tensor is copied to the host in every step, only for"
        if found.name is None:
            return f"{what} a part of it: select the part on the device, and copy that"
        return f"{what} `{found.name}` there: reduce it on the device, and copy the result"
