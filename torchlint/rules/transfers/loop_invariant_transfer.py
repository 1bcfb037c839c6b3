"""TL205: the same tensor is moved to the device in every step."""

from __future__ import annotations

from torchlint.model import Recipe, Severity
from torchlint.rule import Rule


class LoopInvariantTransfer(Rule):
    id = "TL205"
    name = "loop-invariant-transfer"
    summary = "A tensor that never changes is copied to the device in every step"
    severity = Severity.INFO
    group = "advice"
    needs = ()
    layout = False
    about_steps = True
    recipe = Recipe("repeated-uploads", "finding", "the same tensor is copied to the device again and again", least=2)
