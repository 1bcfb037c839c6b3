"""The self-test of the simulation: small programs that run on the CPU and on the simulated device.

Each probe takes the name of a device and returns a value that must be equal on both. A probe that fails shows that this
version of torch is not simulated faithfully.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from torchlint.runtime.recorder import Recorder
from torchlint.runtime.selftest import running
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites

_PARTS = (
    *("devices", "errors", "loading", "operations", "training", "answers", "waits", "copies"),
    *("mixtures", "drawing", "precision", "signatures", "values", "programs"),
)
Probe = Callable[[str], Any]
__all__ = ["Failure", "all_probes", "run"]


@dataclass(frozen=True)
class Failure:
    """A probe whose result on the simulated device differs from that on the CPU."""

    name: str
    reason: str


def all_probes() -> dict[str, Probe]:
    """Every probe by name."""
    found: dict[str, Probe] = {}
    for part in _PARTS:
        module = importlib.import_module(f"{__name__}.{part}")
        for name, probe in module.PROBES.items():
            found[f"{part}.{name}"] = probe
    return found


def run(names: list[str] | None = None) -> list[Failure]:
    """Run probes (by default all); returns those that fail, in order."""
    probes = all_probes()
    chosen = {name: probes[name] for name in (names if names is not None else probes)}
    on_cpu = {name: _outcome(probe, "cpu") for name, probe in chosen.items()}
    with Simulation(Recorder(), Sites([]), devices=2) as simulation:
        running.begin(simulation)
        simulated = {name: _outcome(probe, "cuda") for name, probe in chosen.items()}
    failed = []
    for name, wanted in on_cpu.items():
        found = simulated[name]
        if not _same(wanted, found):
            failed.append(Failure(name, f"{wanted!r} on the CPU, {found!r} on the simulated device"))
    return failed


def _outcome(probe: Probe, device: str) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return probe(device)
        except Exception as error:  # any exception is a result of the probe
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
