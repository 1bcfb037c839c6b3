"""What is timed: this device, the four ways to copy a batch, the forms of the rules, and observation."""

from __future__ import annotations

import functools
import math
import random
import runpy
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.gpu.common import ROOT, Row, Settings, differs

_ROUNDS, _WARM = 25, 20
_FEW, _LITTLE = 9, 2  # the same for what takes long
_LONG_US = 100_000
_LEAST = 0.02  # a smaller difference is none
# The most that observation may cost a program. The first is what is known first.
_OVERHEADS = {"mlp": 1.15, "resnet": 1.15, "cnn": 1.15, "plain": 1.5, "busy": 1.15}
_STEPS = {"mlp": 400, "resnet": 40, "cnn": 200, "plain": 400, "busy": 30}
_PAIRS, _AFTER = 7, 3


def profile(_: Settings, __: Iterator[str]) -> Iterator[Row]:
    """The profile of this device."""
    import torch

    from torchlint.runtime import calibrate

    yield calibrate.profile(torch.cuda.get_device_name())


def cells(_: Settings, __: Iterator[str]) -> Iterator[Row]:
    """A step that copies a batch and computes, for all combinations of pinned and blocking."""
    import torch

    layer = torch.nn.Conv2d(3, 64, 7, stride=2).to("cuda")
    batches = {False: torch.ones(64, 3, 224, 224), True: torch.ones(64, 3, 224, 224).pin_memory()}

    def step(pinned: bool, asynchronous: bool) -> None:
        with torch.no_grad():
            for _ in range(4):
                layer(batches[pinned].to("cuda", non_blocking=asynchronous))

    names = {(p, a): f"pinned={p} non_blocking={a}" for p in (False, True) for a in (False, True)}
    spent = turns({name: functools.partial(step, *how) for how, name in names.items()})
    yield {"us": {name: statistics.median(times) for name, times in spent.items()}}
    for slow, fast in (((False, False), (True, False)), ((True, False), (True, True))):
        what = f"{names[slow]} / {names[fast]}"
        yield _compared(what, {what: (found := ratio(spent[names[slow]], spent[names[fast]]))}, found)


def forms(_: Settings) -> list[str]:
    """The rules that have a slow and a fast form."""
    return sorted(path.parent.name for path in (ROOT / "fixtures").glob("*/run.py"))


def claims(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """The slow and the fast form of each rule: their times on a GPU, their copies and waits on the simulated device."""
    for name in items:
        path = ROOT / "fixtures" / name / "run.py"
        if settings.mode == "gpu":
            found = _timed(path)
            yield _compared(name, {"forms": {name: found}}, found)
        else:
            yield {"forms": {name: _counted(path)}}


def _timed(path: Path) -> dict[str, float]:
    work = runpy.run_path(str(path))
    spent = turns({form: functools.partial(work[form], "cuda") for form in ("slow", "fast")})
    return {f"{form}_us": statistics.median(spent[form]) for form in spent} | ratio(spent["slow"], spent["fast"])


def _counted(path: Path) -> dict[str, dict[str, int]]:
    from torchlint.runtime.recorder import Recorder
    from torchlint.runtime.sim.simulation import Simulation
    from torchlint.runtime.sites import Sites

    found = {}
    for form in ("slow", "fast"):
        recorder = Recorder()
        with Simulation(recorder, Sites([])):
            work = runpy.run_path(str(path))[form]
            work("cuda")
            recorder.counts.clear()  # the first call also creates what both forms share
            work("cuda")
        events = [event for kind in ("sync", "upload", "download") for event in recorder.of(kind)]
        waits = sum(count.number for _, facts, count in events if not facts.get("non_blocking"))
        copies = sum(count.number for kind in ("upload", "download") for _, _, count in recorder.of(kind))
        found[form] = {"copies": copies, "waits": waits}
    return found


def turns(works: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Times of works that take turns, in fewer rounds if they take long."""
    from torchlint.runtime.calibrate import taking_turns

    once = taking_turns(works, 1, warm=1)
    long = sum(times[0] for times in once.values()) > _LONG_US
    return taking_turns(works, *((_FEW, _LITTLE) if long else (_ROUNDS, _WARM)))


def ratio(slow: Sequence[float], fast: Sequence[float]) -> dict[str, float]:
    """The median ratio of paired times, with its 99 % interval."""
    from torchlint.confirm.compare import interval

    logs = [math.log(one / other) for one, other in zip(slow, fast, strict=True)]
    low, high = interval(logs)
    return {"ratio": math.exp(statistics.median(logs)), "low": math.exp(low), "high": math.exp(high)}


def _compared(what: str, row: Row, found: Mapping[str, float]) -> Row:
    return {**row, **differs(what, *slower(found))} if found["low"] <= 1 + _LEAST else row


def slower(found: Mapping[str, float]) -> tuple[str, str]:
    """The verdict on a slow form that has not turned out to be slower."""
    figures = f"x{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    if found["high"] < 1 - _LEAST:
        return "fault", f"{figures}: the form that should be slow is the faster one"
    return "measured", f"{figures}: no difference on this device"


def observed_programs(settings: Settings) -> list[str]:
    """The programs whose overhead is measured."""
    # The simulation runs in Python, so that threads hold each other up.
    return [name for name in _OVERHEADS if settings.mode == "gpu" or name != "busy"]


def overheads(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """The overhead of observation: blocks of steps in this process, with and without it, in random order.

    On a GPU also that of a profile that is over, on blocks that are not observed.
    """
    order = random.Random(0)
    for name in items:
        steps = _STEPS[name] if settings.mode == "gpu" else 2 * _LITTLE
        bare: list[float] = []
        ratios: list[float] = []
        for _ in range(_PAIRS if settings.mode == "gpu" else 1):
            how = {one: _block(name, steps, one) for one in order.sample([None, settings.mode], 2)}
            bare.append(how[None]["us"])
            ratios.append(how[settings.mode]["us"] / how[None]["us"])
            row = {"ratio": statistics.median(ratios), "all": ratios[-1:], "us": statistics.median(bare)}
            yield {"ratios": {name: row}}
            if how[settings.mode]["total"] != how[None]["total"]:
                yield differs(name, "fault", "another result with observation")
        if settings.mode != "gpu":
            continue
        if (found := statistics.median(ratios)) > _OVERHEADS[name]:
            yield differs(name, "fault", f"overhead x{found:.2f}, {_OVERHEADS[name]} at most")
        _block(name, steps, settings.mode, profiled=5)
        after = [_block(name, steps, None)["us"] for _ in range(_AFTER)]
        yield {"ratios": {name: {"after_profile": statistics.median(after) / statistics.median(bare)}}}


def _block(name: str, steps: int, mode: str | None, profiled: int = 0) -> dict[str, float]:
    """Some steps of a program, observed in a mode or not."""
    import overhead

    from torchlint.runtime.observation import Observation

    if mode is None:
        return overhead.trained(name, steps)
    with tempfile.TemporaryDirectory() as folder:
        order = {"torchlint": "check", "run": "overhead", "directory": folder, "roots": [str(ROOT / "benchmarks")]}
        observation = Observation({**order, "profile_steps": profiled}, mode)
        observation.start()
        try:
            return overhead.trained(name, steps)
        finally:
            observation.stop()
