"""TL107: a tensor is converted to a larger dtype on the CPU before it is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loader import Loader
    from torchlint.analysis.things.move import Move
    from torchlint.rules.copies._casts import HostWork


class CastBeforeTransfer(Rule):
    """
    ## What it finds
    A conversion that enlarges a tensor on the CPU right before it is moved to the device: `x.float().to(device)`, where
    `x` is known to have a smaller dtype such as `uint8` or `bool`, in one expression or through a variable that is used
    for nothing else. Also arithmetic that turns integers into floats (`(pixels / 255).to(device)`), and
    methods that repeat elements (`expand`, `repeat`). The same conversions where `__getitem__` of a data set returns
    the result, if a loader of the file collates it by default and its batches are moved.

    ## Why it costs
    A float32 has four times the bytes of a `uint8`, so the copy takes about four times as long, and the CPU must first
    write all of these bytes. The device converts them faster than it could receive them. For 8 frames of 1024 x 1280,
    normalizing on the CPU and copying the floats took 14.9 ms; copying the bytes and normalizing on an RTX A6000 took
    1.0 ms (talmolab/sleap-nn#406). With torch 2.13 on one CPU core, `float()` of 4.8 million bytes took 1.6 ms, and
    `float().div(255)` 7.9 ms.

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

    `x.to(device, torch.float32)` is no replacement: a blocking copy still converts on the CPU, and only one with
    `non_blocking=True` converts on the device (pytorch/pytorch#121341).

    ## When to leave it
    Where the device has no room for the smaller tensor beside the larger one. The rule is silent where the dtype is not
    known, as for most batches of a loader; where the conversion makes the tensor smaller (`.half()`, or `.float()` of
    `int64`); where the host uses the result as well; for tensors that the CPU generates (TL104); for compiled code; in
    tests; and for code that runs once.

    ## Fix safety
    `x.float().to(device)` becomes `x.to(device).float()`. The fix is unsafe: `x` may be something else than a plain
    tensor, whose methods do something else in this order, and a copy from pinned memory may no longer wait, so the
    program must not modify `x` before it is done. From floats to integers, infinities and other values out of range
    become different integers. There is no fix for arithmetic, whose last bits may differ on the device, for views
    between the conversion and the move, and for moves of a variable.

    ## Confirmed by
    Several copies to the device at the line. On the simulated device, 8 batches of 4 rows of 4 pixels take 512 bytes as
    floats, and 128 as `uint8`. Only a GPU can show how long the copies take.

    ## Sources
    - [talmolab/sleap-nn#406](https://github.com/talmolab/sleap-nn/pull/406)
    - [roboflow/rf-detr#1415](https://github.com/roboflow/rf-detr/pull/1415)
    - [pytorch/pytorch#121341](https://github.com/pytorch/pytorch/pull/121341), where copies convert
    """

    id = "TL107"
    name = "cast-before-transfer"
    summary = "A tensor is converted to a larger dtype right before it is copied to the device"
    severity = Severity.INFO
    group = "advice"
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

    @on.loader
    def samples(self, loader: Loader) -> None:
        """Check what the data sets of a loader convert."""
        if self.module.in_test(loader.call):
            return
        from torchlint.rules.copies._sample_casts import SampleCasts

        for part, found in self.module.shared(SampleCasts).new(loader):
            self.report(
                part,
                f"the data set converts {found.before} to {found.after} on the CPU, and {found.factor} times the bytes "
                f"are collated and copied to the device: return {found.before}, and convert the batch there",
                severity=Severity.INFO,
                evidence=[self.module.evidence(loader.call, "this loader makes the batches that are moved")],
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
        assert found.move is not None
        method = f"{found.method}()" if found.method != "to" else "to(dtype)"
        return (
            f"the CPU first converts {found.before} to {found.after}, {times}: move the tensor, and convert it there "
            f"(`.{found.move.method}(...).{method}`)"
        )
