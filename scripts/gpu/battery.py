"""Every probe of the self-test on a GPU: torch's warnings and the profiler's runtime calls beside the simulation."""

from __future__ import annotations

import bisect
import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from scripts.gpu.accounts import simulated
from scripts.gpu.common import Row, Settings, differs

_PROFILE = ("devices.profiler", "answers.tools")  # they would end the profiler around them
_RANGE = "probe: "
_WAIT = "Synchronize"


def probes(_: Settings) -> list[str]:
    """The names of the probes."""
    from torchlint.runtime.selftest import all_probes

    return [name for name in all_probes() if name not in _PROFILE]


def battery(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """Full rows of the probes that differ, and totals."""
    warned = _warned(items) if settings.mode == "gpu" else {}
    own = simulated(list(warned or items))
    yield {"totals": {"probes": len(own)}, "failing": [name for name, count in warned.items() if count < 0]}
    for name, row in own.items():
        if "error" in row:
            yield differs(name, "fault", f"in the simulation: {row['error']}")
        elif warned.get(name, -1) not in (-1, row["waits"]):
            yield {"probes": {name: {"warned": warned[name], "simulated": row}}}
    names = [name for name, row in own.items() if warned.get(name, -1) >= 0 and "error" not in row]
    if names:
        profiled = _profiled(names)
        yield from (compared(name, warned[name], profiled.get(name, {}), own[name]) for name in names)


def compared(name: str, warned: int, calls: Mapping[str, int], own: Mapping[str, int]) -> Row:
    """A row about a probe: how often it waits and uploads, on the device and in the simulation."""
    waits = sum(count for call, count in calls.items() if _WAIT in call)
    uploads = sum(count for call, count in calls.items() if "HtoD" in call)
    totals = {"compared": 1, "warned": warned, "waits": waits, "simulated": own["waits"]}
    row: Row = {"totals": totals}
    if uploads != own["uploads"]:
        row["uploads"] = {name: f"{uploads}, simulated {own['uploads']}"}
    if own["waits"] in (warned, waits):
        return row
    why = f"torch warns of {warned}, the profiler shows {waits}, the simulation {own['waits']}"
    verdict = "fault" if warned == waits and own["waits"] == 0 else "undecided"
    return {**row, "probes": {name: {"calls": dict(calls)}}, **differs(name, verdict, why)}


def _warned(items: Iterator[str]) -> dict[str, int]:
    """How often torch warns of a synchronization in each probe; -1 if the probe fails."""
    import torch

    from torchlint.runtime.calibrate import waits

    found = {}
    every = _every_probe()
    for name in items:
        torch.manual_seed(0)
        found[name] = waits(every[name])
        torch.cuda.synchronize()  # raises an error if the device cannot be used any more
    return found


def _every_probe() -> Mapping[str, Callable[[str], Any]]:
    """The probes. Those that ask for the events of a simulation find none."""
    from torchlint.runtime.recorder import Recorder
    from torchlint.runtime.selftest import all_probes, running
    from torchlint.runtime.sim.simulation import Simulation

    running.begin(cast(Simulation, SimpleNamespace(recorder=Recorder())))
    return all_probes()


def _profiled(names: Sequence[str]) -> dict[str, Counter[str]]:
    """The runtime calls of each probe that wait or copy, from one profile of all of them."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    every = _every_probe()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            torch.manual_seed(0)
            with record_function(_RANGE + name), suppress(Exception):
                every[name]("cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        return runtime_calls(json.loads(path.read_text("utf-8"))["traceEvents"])


def runtime_calls(events: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """The waits and copies in the range of each probe, copies by direction and memory."""
    ranges = sorted(
        (event["ts"], event["ts"] + event["dur"], event["name"][len(_RANGE) :])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith(_RANGE)
    )
    copies = {event["args"]["correlation"]: event["name"] for event in events if event.get("cat") == "gpu_memcpy"}
    starts = [start for start, *_ in ranges]
    found: dict[str, Counter[str]] = {name: Counter() for *_, name in ranges}
    for event in events:
        if event.get("cat") not in ("cuda_runtime", "cuda_driver"):
            continue
        at = bisect.bisect_right(starts, event["ts"]) - 1
        if at < 0 or event["ts"] > ranges[at][1]:
            continue
        copy = copies.get(event.get("args", {}).get("correlation"))
        if copy is not None or _WAIT in event["name"]:
            found[ranges[at][2]][copy or event["name"]] += 1
    return found
