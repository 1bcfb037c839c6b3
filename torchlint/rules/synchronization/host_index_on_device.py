"""TL305: a tensor on the device is indexed from the host in every step."""

from __future__ import annotations

from torchlint.model import Recipe, Severity
from torchlint.rule import Rule


class HostIndexOnDevice(Rule):
    id = "TL305"
    name = "host-index-on-device"
    summary = "A device tensor is indexed with a list, an array or a tensor on the CPU"
    severity = Severity.INFO
    layout = False
    about_steps = True
    recipe = Recipe("blocking-uploads", "evidence", "the index is copied to the device, step after step", least=2)
