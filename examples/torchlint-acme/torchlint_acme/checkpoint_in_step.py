"""ACME002: a checkpoint is written in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchlint import on
from torchlint.model import Heat, Recipe, Severity

from torchlint_acme._base import AcmeRule

if TYPE_CHECKING:
    import libcst as cst


class CheckpointOptions(NamedTuple):
    """``[tool.torchlint.rules.checkpoint-in-step]``."""

    epochs: bool = False


class CheckpointInStep(AcmeRule):
    """
    ## What it finds
    `torch.save` in every step of a training loop, under no condition. With `epochs = true`, also in every epoch, as
    `info`.

    ## Why it costs
    It waits for the device, copies the tensors to the host, and writes them to a disk, all before the next step.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            torch.save(model.state_dict(), "last.pt")
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        for step, x in enumerate(loader):
            model(x.cuda()).mean().backward()
            optimizer.step()
            if step % 1000 == 0:
                torch.save(model.state_dict(), "last.pt")
    ```
    """

    id = "ACME002"
    name = "checkpoint-in-step"
    summary = "A checkpoint is written in every step"
    severity = Severity.WARNING
    recipe = Recipe(
        "function-calls",
        "finding",
        "a file is written in every step, which takes a part of the step",
        least=0.5,
        each="step",
        functions=("torch.save",),
    )
    Options = CheckpointOptions

    @on.call("torch.save")
    def saves(self, node: cst.Call) -> None:
        """Check a call of ``torch.save``."""
        module, heat = self.module, self.module.heat(node)
        if module.every_step(node):
            step = module.heat_analysis.enclosing_step(node)
            if any(guard.kind == "test" for guard in module.guards(node, stop=step)):
                return  # `if is_best:` may hold in every step, or in none
            self.report(node, "writes a checkpoint in every step: save every so many steps instead", heat=heat)
        elif heat is Heat.EPOCH and self.options.epochs:
            self.report(node, "writes a checkpoint in every epoch", heat=heat, severity=Severity.INFO)
