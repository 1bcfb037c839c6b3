"""TL304: an operation on the device whose result has a size that the host must read in every step."""

from __future__ import annotations

from torchlint.model import Recipe, Severity
from torchlint.rule import Rule


class DataDependentShape(Rule):
    id = "TL304"
    name = "data-dependent-shape"
    summary = "An operation makes the host wait in every step for the size of its result"
    severity = Severity.INFO
    layout = False
    group = "advice"
    about_steps = True
    recipe = Recipe("synchronizations", "evidence", "these lines synchronize with the device, step after step", least=2)
