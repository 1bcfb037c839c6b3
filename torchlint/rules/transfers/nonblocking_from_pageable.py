"""TL207: a copy is meant to be asynchronous, but its source lies in pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Fix, Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._host_memory import Pageable


class NonblockingFromPageable(Rule):
    """
    ## What it finds
    `x.to(device, non_blocking=True)`, `x.cuda(non_blocking=True)` and `buffer.copy_(x, non_blocking=True)` in every
    step, where `x` certainly lies in pageable memory: the result of `torch.tensor(..)` or `torch.as_tensor(..)` of
    Python data, of `torch.from_numpy(..)`, or of `torch.cat` and `torch.stack` of tensors on the host, such as the
    parts of a batch, even if these are pinned.

    ## Why it costs
    The device can only read pinned (page-locked) memory by itself. From pageable memory, the driver first copies the
    data to a pinned buffer of its own, and the call returns only when all of the data has been staged; according to
    NVIDIA, the driver may also synchronize the stream before it begins. Such a copy does not overlap with computation
    either. Keep the argument nevertheless: without it, PyTorch would also wait for the whole stream after the copy.
    `torch.cuda.set_sync_debug_mode` does not report this wait. vLLM checks for such copies at run time, and has
    replaced many of them.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn


    class Positions(nn.Module):
        def forward(self, x, lengths: list[int]):
            ends = torch.tensor(lengths).to(x.device, non_blocking=True)
            return x[:, ends - 1]
    ```

    Preferred:

    ```python
    import torch
    from torch import nn


    class Positions(nn.Module):
        def forward(self, x, lengths: list[int]):
            ends = torch.tensor(lengths, pin_memory=torch.cuda.is_available()).to(x.device, non_blocking=True)
            return x[:, ends - 1]
    ```

    The tensor should be in pinned memory from the start: by `pin_memory=True` in the constructor or the loader, or in a
    buffer that every step fills (`torch.empty(.., pin_memory=True)`, whose `numpy()` shares its memory). Wait for the
    copy before filling such a buffer again. Move the parts of a batch first, and join them on the device.

    ## When to leave it
    Where the tensor has 64 KB or less, which CUDA copies without making the host wait. Python data rarely have more.

    The rule is silent for code that runs once or once per epoch, in tests, where an array may be a view of pinned
    memory, where the host reads the result at once, and where a default device is set. Batches of a loader that does
    not pin are reported by TL401 and TL202, and tensors that the CPU generates by TL103 and TL104.

    ## Fix safety
    `pin_memory=torch.cuda.is_available()` is added to `torch.tensor(..)`. The fix is unsafe: pinned memory cannot be
    paged out, and a write to the tensor before the copy is done would change the copy. The other forms have no fix.

    ## Confirmed by
    Copies to the device from pageable memory at the line, at least twice.

    ## Sources
    - [CUDA runtime, API synchronization behavior](https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html)
    - [NVIDIA developer forum, copies of 64 KB or less](https://forums.developer.nvidia.com/t/64kb-gotcha/35190)
    - [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
    - [vllm-project/vllm#53491](https://github.com/vllm-project/vllm/pull/53491): a check at run time
    - [vllm-project/vllm#56202](https://github.com/vllm-project/vllm/pull/56202): a static check
    - [vllm-project/vllm#54292](https://github.com/vllm-project/vllm/pull/54292): repairs
    - [sgl-project/sglang#38703](https://github.com/sgl-project/sglang/pull/38703): repairs
    """

    id = "TL207"
    name = "nonblocking-from-pageable"
    summary = "A copy with `non_blocking=True` cannot be asynchronous, since its source is not pinned"
    severity = Severity.INFO
    group = "advice"
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers("non_blocking"), concepts.HOT)
    layout = False
    recipe = Recipe("pageable-uploads", "finding", "copies to the device from pageable memory", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move that is meant to be asynchronous."""
        module = self.module
        if not move.asynchronous or module.heat(move.call).rank < Heat.STEP.rank or module.in_test(move.call):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.transfers._host_memory import HostMemory, is_read_at_once

        found = module.shared(HostMemory).pageable(move.moved)
        if found is None or not move.to_accelerator or is_read_at_once(module, move.call):
            return
        trains = module.every_step(move.call)
        self.report(
            move.call,
            self._message(found, module.shared(Steps).around(move.call).in_words),
            evidence=[module.evidence(found.call, "this is not pinned")],
            severity=Severity.WARNING if trains and found.kind != "data" else Severity.INFO,
            heat=Heat.STEP,
            fix=self._fix(found),
        )

    def _message(self, found: Pageable, step: str) -> str:
        name = (self.module.qualified(found.call.func) or "").removeprefix("builtins.")
        if found.kind == "data":
            return (
                f"the result of `{name}` is not pinned: with more than 64 KB, the host waits for this copy in every "
                f"{step} despite `non_blocking=True`; create it by `torch.tensor(.., pin_memory=True)`"
            )
        return (
            f"the result of `{name}` is not pinned, so the host waits for this copy in every {step} despite "
            f"`non_blocking=True`: {_ADVICE[found.kind]}"
        )

    def _fix(self, found: Pageable) -> Fix | None:
        from torchlint.rules.transfers._fixes import pin_from_the_start

        return pin_from_the_start(self.module, found)


_ADVICE = {
    "array": "fill a pinned tensor (`torch.empty(.., pin_memory=True)`) that is kept between steps",
    "batch": "move the parts first, and join them on the device",
    "tensors": "join them into a pinned tensor, `out=torch.empty(.., pin_memory=True)`",
}
