"""TL107: a tensor is converted to a larger dtype on the CPU before it is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.copies._casts import HostWork


class CastBeforeTransfer(Rule):
    """
    ## What it finds
    A tensor on the CPU that grows right before it is moved to the device: `x.float().to(device)`, where `x` is known
    to have a smaller dtype such as `uint8` or `bool`, in one expression or through a variable that is used for nothing
    else. Likewise, as `info`, arithmetic that turns integers into floats (`(pixels / 255).to(device)`), and methods
    that repeat elements (`expand`, `repeat`).

    ## Why it costs
    A float has four times the bytes of a pixel, so the copy takes about four times as long, and before it the CPU
    writes all of them. The device converts faster than it could receive the difference. For 8 frames of 1024 x 1280,
    normalizing on the CPU and copying took 14.9 ms, and copying bytes and normalizing on an RTX A6000 took 1.0
    (talmolab/sleap-nn#406). With torch 2.13 on one CPU core, `float()` of 4.8 million bytes took 1.6 ms, and
    `float().div(255)` 7.9.

    ## Instead
    Flagged:

    ```python
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


    def train(model, optimizer, frames, loader):
        pixels = torch.zeros(1000, 4, 84, 84, dtype=torch.uint8)
        pixels[: len(frames)] = frames
        for indices in loader:
            x = pixels[indices].float().to(device)
            model(x / 255).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    Preferred:

    ```python
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


    def train(model, optimizer, frames, loader):
        pixels = torch.zeros(1000, 4, 84, 84, dtype=torch.uint8)
        pixels[: len(frames)] = frames
        for indices in loader:
            x = pixels[indices].to(device).float()
            model(x / 255).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    `.to(device, torch.float32)` is not the same: a blocking copy converts on the CPU, and only one with
    `non_blocking=True` on the device (pytorch/pytorch#121341).

    ## When to leave it
    Where device memory has no room for the smaller tensor beside the larger one. The rule is silent where the dtype is
    not known, as for most batches of a loader, and where the conversion makes the tensor smaller (`.half()`, or
    `.float()` of `int64`); where the host uses the result as well; for content that the CPU generates (TL104), for
    compiled code, tests, and what runs once. A conversion outside of training steps is an `info`.

    ## Fix safety
    `x.float().to(device)` becomes `x.to(device).float()`. Safe: the device converts to the same numbers, and the result
    is a new tensor in either order. The fix is unsafe with `non_blocking=True` (if `x` is in pinned memory, the copy no
    longer waits, so the program must not modify `x` meanwhile), and from floats to integers (infinities and other
    numbers out of range become different integers). There is no fix for arithmetic, whose last bits may differ on the
    device, for views in between, and through variables.

    ## Confirmed by
    Several copies to the device at the line. On the simulated device, 8 batches of 4 rows of 4 pixels are 512 bytes as
    floats, and 128 as bytes. How long the copies take, only a GPU can show.

    ## Sources
    - [talmolab/sleap-nn#406](https://github.com/talmolab/sleap-nn/pull/406)
    - [roboflow/rf-detr#1415](https://github.com/roboflow/rf-detr/pull/1415)
    - [pytorch/pytorch#121341](https://github.com/pytorch/pytorch/pull/121341), where copies convert
    """

    id = "TL107"
    name = "cast-before-transfer"
    summary = "A tensor grows on the CPU right before it is copied to the device"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.HOT)
    layout = False
    recipe = Recipe("enlarged-uploads", "finding", "what is copied was converted or enlarged by the CPU", least=2)

    @on.move
    def grows(self, move: Move) -> None:
        """Check a call of ``to`` or ``cuda``."""
        if self.module.in_test(move.call):
            return
        from torchlint.rules.copies._casts import HostWorks

        found = self.module.shared(HostWorks).of(move)
        if found is None:
            return
        from torchlint.rules.copies._cast_fixes import convert_after

        urgent = found.work == "cast" and self.module.every_step(move.call)
        self.report(
            move.call,
            self._message(found),
            severity=Severity.WARNING if urgent else Severity.INFO,
            heat=self.module.heat(move.call),
            fix=convert_after(self.module, found),
        )

    def _message(self, found: HostWork) -> str:
        if found.work == "enlarging":
            return (
                f"`{found.method}` enlarges the tensor on the CPU, and every repetition is copied to the device: move "
                f"it first, and call `{found.method}` there"
            )
        times = f"which copies {found.factor} times the bytes to the device"
        if found.work == "arithmetic":
            return (
                f"the CPU first computes {found.after} numbers from {found.before} ones, {times}: move the tensor, and "
                "compute there"
            )
        method = f"{found.method}()" if found.method != "to" else "to(dtype)"
        return (
            f"the CPU first converts {found.before} to {found.after}, {times}: move the tensor, and convert it there "
            f"(`.{found.move.method}(...).{method}`)"
        )
