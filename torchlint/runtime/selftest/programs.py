"""Probes of whole programs: their steps, and files that they run."""

from __future__ import annotations

import os
import runpy
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.selftest.running import counts
from torchlint.runtime.steps import Steps

_SOURCE = "import torch\nx = torch.ones(3, device='cuda')\ntotal = x.sum().item()\n"


def _two_optimizers(device: str) -> dict[str, int]:
    """A critic and an actor, and an evaluation after each of three epochs."""
    recorder, patches = Recorder(), Patches()
    steps = Steps(None, recorder.ledger)
    steps.install(patches)
    try:
        critic, actor = nn.Linear(2, 1).to(device), nn.Linear(2, 2).to(device)
        first, second = (torch.optim.SGD(model.parameters(), 0.1) for model in (critic, actor))
        for _ in range(3):
            for _ in range(4):
                critic(torch.ones(1, 2).to(device)).sum().backward()
                first.step()
                critic(actor(torch.ones(1, 2).to(device))).sum().backward()
                second.step()
            with torch.no_grad():
                for _ in range(5):
                    actor(torch.ones(1, 2).to(device))
    finally:
        patches.restore()
        steps.remove()
    steps.finish()
    return {name: phase["count"] for name, phase in steps.written()["phases"].items()}


def _run_path() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.py")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(_SOURCE)
        runpy.run_path(path)


PROBES: dict[str, Callable[[str], Any]] = {
    "two_optimizers": _two_optimizers,
    "runpy": counts(_run_path, waits=1, uploads=0),
}
