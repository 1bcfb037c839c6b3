"""TL303: the host branches on a tensor on the device in every step."""

from __future__ import annotations

from torchlint.model import Recipe, Severity
from torchlint.rule import Rule


class TensorInControlFlow(Rule):
    id = "TL303"
    name = "tensor-in-control-flow"
    summary = "Python branches on a tensor on the device in every step"
    severity = Severity.WARNING
    layout = False
    group = "preview"
    recipe = Recipe(
        "synchronizations", "finding", "the condition synchronizes with the device, step after step", least=2
    )
