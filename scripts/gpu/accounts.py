"""How often operations wait: by torch's account of synchronizations, and in the simulation."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.gpu.common import CHECK, Row, Settings, difference, output

_OPERATIONS = "operations."
_IDENTITY = "operations.identity"  # moves an operand to the device and reads it, as all operations do


def simulated(names: Sequence[str]) -> dict[str, Any]:
    """What each probe of the self-test does in the simulation: waits, and copies in each direction.

    It has a process of its own, which has no GPU.
    """
    counts: dict[str, Any] = json.loads(output([str(CHECK), "--simulate", *names], CUDA_VISIBLE_DEVICES=""))
    return counts


def simulate(names: Sequence[str]) -> dict[str, Any]:
    """The same in this process."""
    import torch

    from torchlint.runtime.recorder import Recorder
    from torchlint.runtime.selftest import all_probes, running
    from torchlint.runtime.sim.simulation import Simulation
    from torchlint.runtime.sites import Sites

    probes = all_probes()
    found: dict[str, Any] = {}
    for name in names:
        recorder = Recorder()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Simulation(recorder, Sites([]), devices=2) as simulation:
                    running.begin(simulation)
                    torch.manual_seed(0)
                    probes[name]("cuda")
        except Exception as error:  # which shows that it is not simulated faithfully
            found[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
            continue
        numbers = {
            kind: [(count.number, not facts.get("non_blocking")) for _, facts, count in recorder.of(kind)]
            for kind in ("sync", "upload", "download")
        }
        waits = sum(number for events in numbers.values() for number, blocks in events if blocks)
        found[name] = {"waits": waits, "uploads": sum(number for number, _ in numbers["upload"])}
        found[name]["downloads"] = sum(number for number, _ in numbers["download"])
    return found


def synchronizing(settings: Settings, _: Iterator[str]) -> Iterator[Row]:
    """Which operations synchronize, as reported by torch and in the simulation."""
    from torchlint.runtime.selftest.operations import PROBES

    found = simulated([_OPERATIONS + name for name in PROBES])
    least = found[_IDENTITY]["waits"]
    own = {name: max(found[_OPERATIONS + name].get("waits", 0) - least, 0) for name in PROBES}
    yield {"modeled": own}
    if settings.mode != "gpu":
        return
    from torchlint.runtime import calibrate

    counted = calibrate.synchronizing()
    wrong = [
        difference(name, *account_differs(counted[name], own[name])) for name in counted if counted[name] != own[name]
    ]
    yield {"counted": counted, "differences": wrong}


def account_differs(counted: int, own: int) -> tuple[str, str]:
    """The verdict on a number of synchronizations that is another one in the simulation."""
    figures = f"torch reports {counted}, the simulation {own}"
    if counted < 0:
        return "undecided", "fails on this device"
    if counted == 0:
        return "undecided", f"{figures}: a wait inside a CUDA library, which torch does not report, or none"
    return ("fault" if own == 0 else "undecided"), figures
