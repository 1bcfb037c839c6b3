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
    step, where `x` is proved to lie in pageable memory: `torch.tensor(..)` and `torch.as_tensor(..)` of Python data,
    `torch.from_numpy(..)`, or what `torch.cat` and `torch.stack` make of tensors on the host, such as the parts of a
    batch, whether these are pinned or not.

    ## Why it costs
    The device can only fetch data from pinned (page-locked) memory by itself. From pageable memory the driver first
    copies them to a pinned buffer of its own, which keeps the host busy until all of them are there; NVIDIA reserves
    that the driver waits for the stream before it does so. Such a copy does not overlap with computation either. The
    argument is not useless: PyTorch then omits the wait for the whole stream that follows any other copy, so it should
    stay. But the call still does not do what it says, and `torch.cuda.set_sync_debug_mode` does not see it. vLLM looks
    for such copies at run time, and has replaced many of them.

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

    A tensor should be in pinned memory from the start: `pin_memory=True` in a constructor, in the loader, or in a
    buffer that is filled in every step (`torch.empty(.., pin_memory=True)`, whose `numpy()` shares its memory). Wait
    for the copy before such a buffer is filled again. Move the parts of a batch first, and join them on the device.

    ## When to leave it
    Where the tensor has 64 KB or less, which CUDA copies without making the host wait. Python data seldom have more, so
    for these the finding is an `info`, and so it is in steps that do not train. The rule is silent for what runs once
    or once per epoch, in tests, where an array may be a view of pinned memory, where the host reads the result at once,
    and where the default device is set. A batch whose loader does not pin is the subject of TL401 and TL202, content
    that the CPU generates that of TL104 and TL103.

    ## Fix safety
    `pin_memory=torch.cuda.is_available()` is added to `torch.tensor(..)`. It is unsafe: pinned memory is not paged out,
    and a write to the tensor before the copy is done would change the copy. The other forms have no fix.

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
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (identifiers("torch"), identifiers("non_blocking"), concepts.HOT)
    layout = False
    recipe = Recipe("pageable-uploads", "finding", "copies to the device from pageable memory", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move that is meant to be asynchronous."""
        module = self.module
        if not move.asynchronous or module.heat(move.call).rank < Heat.STEP.rank or module.in_test(move.call):
            return
        from torchlint.rules.transfers._host_memory import HostMemory, is_read_at_once

        found = module.shared(HostMemory).pageable(move.moved)
        if found is None or not move.to_accelerator or is_read_at_once(module, move.call):
            return
        trains = module.every_step(move.call)
        self.report(
            move.call,
            self._message(found, "training step" if trains else "step"),
            evidence=[module.evidence(found.call, "this is not pinned")],
            severity=Severity.WARNING if trains and found.kind != "data" else Severity.INFO,
            heat=Heat.STEP,
            fix=self._fix(found),
        )

    def _message(self, found: Pageable, step: str) -> str:
        name = (self.module.qualified(found.call.func) or "").removeprefix("builtins.")
        if found.kind == "data":
            return (
                f"the result of `{name}` is not pinned, so with more than 64 KB the host waits while the driver stages "
                f"this copy, in every {step} and despite `non_blocking=True`: create it by "
                "`torch.tensor(.., pin_memory=True)`"
            )
        return (
            f"the result of `{name}` is not pinned, so the host waits while the driver stages this copy, in every "
            f"{step} and despite `non_blocking=True`: {_ADVICE[found.kind]}"
        )

    def _fix(self, found: Pageable) -> Fix | None:
        from torchlint.rules.transfers._fixes import pin_from_the_start

        return pin_from_the_start(self.module, found)


_ADVICE = {
    "array": "fill a pinned tensor that is kept between steps (`torch.empty(.., pin_memory=True)`)",
    "batch": "move the parts with `non_blocking=True`, and join them on the device",
    "tensors": "join them into a pinned tensor, `out=torch.empty(.., pin_memory=True)`",
}
