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
    A tensor that lies on the CPU, stays the same from step to step, and is moved to the device in every one of them:
    `weights.to(device)` in the loop, where `weights` is created before it, or `self.weights.to(x.device)` in `forward`,
    where the constructor assigns `self.weights` and does not register it as a buffer. Fixed parts and views count as
    well (`self.table[None].float().cuda()`).

    ## Why it costs
    The result of a move is a new tensor; the original stays where it is, so the next step copies the same bytes
    again. From pageable memory, the driver first copies them to pinned memory, and the host waits until the device has
    done everything before the copy, so that it cannot prepare the next kernels meanwhile. In a pipeline of Diffusers
    two such moves of constant rotary frequencies waited 76 ms each in every forward pass on an A100
    (huggingface/diffusers#13406). A copy in `forward` also cannot be captured in a CUDA graph.

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

    With `persistent=False` the buffer is not part of the `state_dict`, so old checkpoints can still be loaded. The
    module itself, here the loss, must be moved to the device. In a loop, move the tensor before the first step.

    ## When to leave it
    Where device memory cannot hold the tensor all the time. A buffer follows conversions such as `model.half()`: those
    round it, and complex numbers lose their imaginary part; keep such tensors in an attribute that is moved when it is
    first used. The rule is silent for parameters, buffers and batches; for tensors that the step replaces or
    modifies, that an optimizer changes, or that are handed to unknown functions; for parts that differ from step to
    step; for copies that are kept (`if self.moved is None`, a dict of devices, `lru_cache`), for compiled code and for
    what runs once per epoch or every N steps. Content that the CPU generates is TL104's, numbers are TL105's. In an
    evaluation the finding is an `info`.

    ## Fix safety
    There is no fix: where the copy should live is a decision about the program.

    ## Confirmed by
    Several copies to the device at the line. Moving 1,000 class weights in every step of a loop over 8 batches makes 8
    copies on the simulated device (torch 2.13), where one would do. How long the host waits for them, only a GPU can
    show.

    ## Sources
    - [huggingface/diffusers#13406](https://github.com/huggingface/diffusers/pull/13406), constant frequencies
    - [lyuwenyu/RT-DETR#679](https://github.com/lyuwenyu/RT-DETR/pull/679), a constant embedding
    - [`Module.register_buffer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer)
    - [Lightning, speed up model training](https://lightning.ai/docs/pytorch/stable/advanced/speed.html)
    """

    id = "TL205"
    name = "loop-invariant-transfer"
    summary = "The same tensor is copied to the device in every step"
    severity = Severity.WARNING
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
        return f"`{name}` is the same in every step, but is copied to the device again in each one{waits}"

    def _advice(self, found: Repeated) -> str:
        import libcst as cst

        if isinstance(found.tensor, cst.Name):
            return "move it once, before the steps"
        owner = self.module.class_of(found.tensor)
        classes = self.module.classes
        if owner is None or not (classes.is_module(owner) or classes.method(owner, "forward")):
            return "move it once, where it is created"
        registered = f'self.register_buffer("{found.tensor.attr.value}", ..., persistent=False)'
        return f"make it a buffer, `{registered}`, which moves with the module"
