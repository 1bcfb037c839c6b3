"""TL301: the host synchronizes with the device in every step."""

from __future__ import annotations

from torchlint.model import Recipe, Severity
from torchlint.rule import Rule


class SyncInHotLoop(Rule):
    id = "TL301"
    name = "sync-in-hot-loop"
    summary = "The host synchronizes with the device in every step"
    severity = Severity.WARNING
    layout = False
    recipe = Recipe("synchronizations", "evidence", "these lines synchronize with the device, step after step", least=2)
