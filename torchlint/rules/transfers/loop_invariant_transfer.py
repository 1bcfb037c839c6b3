"""TL205: the same tensor is moved to the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._repeated import Repeated


class LoopInvariantTransfer(Rule):
    """
    ## What it finds
    A tensor on the CPU that never changes, but is moved to the device in every step: `weights.to(device)` in a loop,
    where `weights` is created before the loop, or `self.weights.to(x.device)` in `forward`, where the constructor
    assigns `self.weights` as a plain attribute instead of registering a buffer. Parts and views of such a tensor count
    as well (`self.table[None].float().cuda()`).

    ## Why it costs
    `to` returns a new tensor and leaves the original on the CPU, so every step copies the same bytes again. Unless the
    copy is asynchronous (`non_blocking=True`, from pinned memory), the host also waits until the device has finished
    all queued work, and cannot queue the next kernels meanwhile. In a Diffusers pipeline, two such copies of constant
    rotary frequencies each waited 76 ms in every forward pass on an A100 (huggingface/diffusers#13406). Nor can a copy
    from pageable memory be captured in a CUDA graph.

    ## Instead
    Flagged:

    ```python
    import torch
    import torch.nn as nn
    import torch.nn.functional as F


    class WeightedLoss(nn.Module):
        def __init__(self, text):
            super().__init__()
            self.weights = torch.tensor([float(part) for part in text.split(",")])

        def forward(self, x, y):
            return F.cross_entropy(x, y, weight=self.weights.to(x.device))
    ```

    Preferred:

    ```python
    import torch
    import torch.nn as nn
    import torch.nn.functional as F


    class WeightedLoss(nn.Module):
        def __init__(self, text):
            super().__init__()
            weights = torch.tensor([float(part) for part in text.split(",")])
            self.register_buffer("weights", weights, persistent=False)

        def forward(self, x, y):
            return F.cross_entropy(x, y, weight=self.weights)
    ```

    With `persistent=False`, the buffer stays out of the `state_dict`, so old checkpoints still load. A buffer moves
    with its module: the module itself, here the loss, must be moved to the device. In a loop, move the tensor before
    the first step.

    ## When to leave it
    Where the device has no memory to hold the tensor all the time. Note that a buffer is converted together with its
    module: `model.half()` rounds it, and `model.to(dtype)` with a real dtype drops the imaginary part of complex
    numbers. Keep such a tensor in an attribute, and move it once, when it is first used.

    The rule is silent for parameters, buffers and batches; for tensors that the step replaces or modifies, that an
    optimizer updates, or that are passed to unknown functions; for parts that differ from step to step; for copies that
    are cached (`if self.moved is None`, a dict by device, `lru_cache`); for compiled code; and for code that runs once
    per epoch or every N steps. Tensors that the CPU generates are reported by TL104, and Python numbers by TL105.

    ## Fix safety
    There is no fix: the program has to decide where the tensor on the device is kept.

    ## Confirmed by
    Several copies to the device at the line. On the simulated device (torch 2.13), a loop over 8 batches that moves
    1,000 class weights in every step makes 8 copies, where one would do. Only a GPU can show how long the host waits
    for them.

    ## Sources
    - [huggingface/diffusers#13406](https://github.com/huggingface/diffusers/pull/13406), constant frequencies
    - [lyuwenyu/RT-DETR#679](https://github.com/lyuwenyu/RT-DETR/pull/679), a constant embedding
    - [`Module.register_buffer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer)
    - [Lightning, speed up model training](https://lightning.ai/docs/pytorch/stable/advanced/speed.html)
    """

    id = "TL205"
    name = "loop-invariant-transfer"
    summary = "A tensor that never changes is copied to the device in every step"
    severity = Severity.INFO
    group = "advice"
    needs = (concepts.TORCH, concepts.HOT)
    layout = False
    recipe = Recipe("repeated-uploads", "finding", "the same tensor is copied to the device again and again", least=2)

    @on.move
    def repeats(self, move: Move) -> None:
        """Check a call of ``to``, ``cuda`` or ``type_as``."""
        if self.module.in_test(move.call):
            return
        from torchlint.rules.transfers._repeated import RepeatedMoves

        found = self.module.shared(RepeatedMoves).of(move)
        if found is None:
            return
        self.report(
            move.call,
            f"{self._what(found)}: {self._advice(found)}",
            evidence=[self.module.evidence(found.origin, "the tensor is created here, and stays on the CPU")],
            severity=Severity.WARNING if self.module.every_step(move.call) else Severity.INFO,
            heat=Heat.STEP,
        )

    def _what(self, found: Repeated) -> str:
        waits = ", while the host waits" if found.move.blocking else ""
        name = self.module.code(found.tensor)
        return f"`{name}` never changes, but every step copies it to the device again{waits}"

    def _advice(self, found: Repeated) -> str:
        import libcst as cst

        if isinstance(found.tensor, cst.Name):
            return "move it once, before the loop"
        owner = self.module.class_of(found.tensor)
        classes = self.module.classes
        if owner is None or not (classes.is_module(owner) or classes.method(owner, "forward")):
            return "move it once, where it is created"
        registered = f'self.register_buffer("{found.tensor.attr.value}", ..., persistent=False)'
        return f"make it a buffer of the module (`{registered}`)"
