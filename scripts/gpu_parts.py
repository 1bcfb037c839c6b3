"""The parts of ``gpu_check.py``. Each returns its figures, and its differences with a verdict on each of them.

Verdicts: ``fault`` (torchlint is wrong), ``measured`` (this device or machine is different, which is what measuring is
for), and ``undecided``.
"""

from __future__ import annotations

import functools
import json
import math
import os
import random
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchlint.confirm.evidence import Run

ROOT = Path(__file__).resolve().parents[1]
_MARK = re.compile(r'# (TL\d{3}) (confirmed|refuted|not reached|unknown) "')
_CHEAP = ("below", "too little")  # words of a refutation because of what it costs
_ROUNDS = 25
_LEAST = 0.02  # a smaller difference is none
# Programs that record code whose operations are not observed, and what it is.
_OPAQUE = {"compiled": "compiled", "graphs": "replayed"}
# Programs of which it is known how many copies wait for the device, each of which torch reports.
_WAITING = {"copies": 16}
_OVERHEADS = {"plain": 1.5, "mlp": 1.5, "cnn": 1.15, "resnet": 1.15, "busy": 1.15}


def difference(what: str, verdict: str, why: str) -> dict[str, str]:
    """Something that is not as expected."""
    return {"what": what, "verdict": verdict, "why": why}


# -- verdicts --------------------------------------------------------------------------------------


def programs(mode: str) -> dict[str, Any]:
    """The scripted programs, whose verdicts are known for the simulated device."""
    every = sorted([*ROOT.glob("tests/programs/*.py"), *ROOT.glob("fixtures/*/programs/*.py")])
    paths = [p for p in every if "# on: cpu" not in p.read_text("utf-8")]
    command = [sys.executable, "-m", "tests.programs_runner", "--mode", mode, *map(str, paths)]
    found = json.loads(output(command).splitlines()[-1])
    same, different = 0, []
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            mark = _MARK.search(line)
            if mark is None:
                continue
            given = [v for v in found[str(path)] if (v["rule"], v["line"]) == (mark[1], number)]
            if given and given[0]["status"] == mark[2]:
                same += 1
            else:
                verdict, why = judged(mark[2], given[0] if given else None, line)
                different.append(difference(f"{path.name}:{number} {mark[1]} {mark[2]}", verdict, why))
    return {"same": same, "differences": different}


def judged(expected: str, given: Mapping[str, Any] | None, line: str) -> tuple[str, str]:
    """The verdict on a verdict that differs from the one in the comment of a line, that on the simulated device."""
    if given is None:
        return "fault", "no verdict"
    said = f"{given['status']}: {given['reason']}"
    if given["status"] == "unknown":
        return "undecided", said
    cheap = expected == "refuted" and any(words in line for words in _CHEAP)
    if given["basis"] == "measured" and (cheap or (expected, given["status"]) == ("confirmed", "refuted")):
        return "measured", said
    return "fault", said


def features(mode: str) -> dict[str, Any]:
    """Mixed precision, compiled models, CUDA graphs, nccl, workers: with and without observation."""
    found: dict[str, Any] = {"differences": []}
    for path in sorted((ROOT / "scripts" / "gpu_programs").glob("*.py")):
        with tempfile.TemporaryDirectory() as folder:
            bare = _ran([str(path)], folder)
            options = ["--isolated", "--fail-on", "never", "--on", mode, "--evidence", "evidence"]
            observed = _ran(["-m", "torchlint", "confirm", *options, "--", str(path)], folder)
            row, wrong = _featured(path.stem, bare, observed, Path(folder, "evidence"))
        found[path.stem] = row
        found["differences"] += wrong
    return found


def _featured(
    name: str, bare: subprocess.CompletedProcess[str], observed: subprocess.CompletedProcess[str], folder: Path
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    from torchlint.confirm import evidence

    if bare.returncode:
        return {}, [difference(name, "undecided", f"fails without torchlint: {bare.stderr[-200:]}")]
    run = evidence.read(str(folder), json.loads((folder / "order.json").read_text("utf-8"))["run"])
    counts = {kind: sum(event.count for event in run.of(kind)) for kind in ("upload", "download", "peer", "sync")}
    left = run.left[1] if run.left is not None else None
    row = {"status": observed.returncode, "opaque": run.opaque, "account": run.account, "left": left, **counts}
    if left is not None:
        return row, [difference(name, "undecided", f"not simulated: {left}")]
    wrong = []
    if (bare.returncode, _last(bare)) != (observed.returncode, _last(observed)):
        both = f"{_last(bare)!r} without and {_last(observed)!r} with observation, status {observed.returncode}"
        wrong.append(difference(name, "fault", both))
    wanted = _OPAQUE.get(name) if run.mode == "gpu" else None
    if wanted is not None and wanted not in run.opaque:
        wrong.append(difference(name, "fault", f"{wanted} code was not recorded"))
    wrong += _waiting(name, run)
    if run.uncounted_waits:
        wrong.append(difference(name, "undecided", "; ".join(run.notes) or "synchronizations were not counted"))
    return row, wrong


def _waiting(name: str, run: Run) -> list[dict[str, str]]:
    """Whether as many copies wait as are known to: by their arguments and, on a GPU, by torch's account."""
    known = _WAITING.get(name)
    if known is None:
        return []
    read = sum(event.count for event in run.of("upload") if not event.facts["non_blocking"])
    counted = {"their arguments": read}
    if run.account is not None:
        counted["torch's account"] = run.account["explained"]
    return [
        difference(name, "fault", f"{count} copies wait by {source}, {known} do")
        for source, count in counted.items()
        if count != known
    ]


def _ran(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return next(iter(done.stdout.splitlines()[-1:]), "")


# -- torch's own account ---------------------------------------------------------------------------


def profile(mode: str) -> dict[str, Any]:
    """The profile of this device."""
    if mode != "gpu":
        return {"skipped": "needs a GPU", "differences": []}
    import torch

    from torchlint.runtime import calibrate

    return {**calibrate.profile(torch.cuda.get_device_name()), "differences": []}


def modeled() -> dict[str, int]:
    """How often each operation of the self-test synchronizes in the simulation."""
    from torchlint.runtime.recorder import Recorder
    from torchlint.runtime.selftest.operations import PROBES
    from torchlint.runtime.sim.simulation import Simulation
    from torchlint.runtime.sites import Sites

    counts: dict[str, int] = {}
    for name, probe in PROBES.items():
        recorder = Recorder()
        with Simulation(recorder, Sites([])):
            probe("cuda")
        events = [event for kind in ("sync", "upload", "download") for event in recorder.of(kind)]
        counts[name] = sum(count.number for _, facts, count in events if not facts.get("non_blocking"))
    return {name: max(count - counts["identity"], 0) for name, count in counts.items()}


def synchronizing(mode: str) -> dict[str, Any]:
    """Which operations synchronize, as reported by torch and in the simulation."""
    command = [sys.executable, str(Path(__file__).with_name("gpu_check.py")), "--modeled"]
    own = json.loads(output(command, CUDA_VISIBLE_DEVICES="").splitlines()[-1])
    if mode != "gpu":
        return {"modeled": own, "skipped": "needs a GPU to compare with", "differences": []}
    from torchlint.runtime.calibrate import synchronizing

    counted = synchronizing()
    wrong = [
        difference(name, *account_differs(counted[name], own[name])) for name in counted if counted[name] != own[name]
    ]
    return {"counted": counted, "modeled": own, "differences": wrong}


def account_differs(counted: int, own: int) -> tuple[str, str]:
    """The verdict on a number of synchronizations that is another one in the simulation."""
    figures = f"torch reports {counted}, the simulation {own}"
    if counted < 0:
        return "undecided", "fails on this device"
    if counted == 0:
        return "undecided", f"{figures}: a wait inside a CUDA library, which torch does not report, or none"
    return ("fault" if own == 0 else "undecided"), figures


def trace(mode: str) -> dict[str, Any]:
    """Whether torch's callbacks interfere with exceptions of the program, and end."""
    if mode != "gpu":
        return {"skipped": "needs a GPU", "differences": []}
    said = output([sys.executable, "-m", "torchlint.runtime.selftest.trace"])
    return {"differences": [difference("trace", "fault", problem) for problem in json.loads(said.splitlines()[-1])]}


def timeline(mode: str) -> dict[str, Any]:
    """When the device was busy in a few profiled steps of a program that reads its loss."""
    if mode != "gpu":
        return {"skipped": "needs a GPU", "differences": []}
    from torchlint.confirm import evidence

    program = str(ROOT / "scripts" / "gpu_programs" / "reading.py")
    options = ["--isolated", "--fail-on", "never", "--on", mode, "--evidence", "evidence"]
    with tempfile.TemporaryDirectory() as folder:
        done = _ran(["-m", "torchlint", "confirm", *options, "--", program], folder)
        stored = Path(folder, "evidence")
        if not (stored / "order.json").exists():
            return {"differences": [difference("timeline", "fault", done.stderr[-200:])]}
        run = evidence.read(str(stored), json.loads((stored / "order.json").read_text("utf-8"))["run"])
    found = (run.profiled or {}).get("device")
    why = "; ".join(run.notes) if found is None else impossible(found)
    wrong = [difference("timeline", "fault", why or "nothing was profiled")] if why or found is None else []
    return {"device": found, "blocked": run.blocked, "differences": wrong}


def impossible(found: Mapping[str, Any]) -> str:
    """What cannot be right in the busy intervals of a device; empty if all can."""
    whole = found["steps"][-1]
    gaps = sum(spent for _, spent, _ in found["gaps"])
    problems = {
        "no interval of computing": not found["rows"]["compute"],
        "no copy in one of the directions": not (found["rows"]["HtoD"] and found["rows"]["DtoH"]),
        "no wait on the host": not found["rows"]["host"],
        "busy for longer than the steps took": found["busy_ns"] > whole,
        "busy and idle for longer than the steps took": found["busy_ns"] + gaps > whole,
        "an interval outside of the steps": any(
            start + spent > whole for row in found["rows"].values() for start, spent in row
        ),
        "no gap after a line": not any(site is not None for *_, site in found["gaps"]),
    }
    return "; ".join(problem for problem, there in problems.items() if there)


# -- times -----------------------------------------------------------------------------------------


def cells(mode: str) -> dict[str, Any]:
    """A step that copies a batch and computes, for all combinations of pinned and blocking."""
    if mode != "gpu":
        return {"skipped": "needs a GPU", "differences": []}
    import torch

    layer = torch.nn.Conv2d(3, 64, 7, stride=2).to("cuda")
    batches = {False: torch.ones(64, 3, 224, 224), True: torch.ones(64, 3, 224, 224).pin_memory()}

    def step(pinned: bool, asynchronous: bool) -> None:
        with torch.no_grad():
            for _ in range(4):
                layer(batches[pinned].to("cuda", non_blocking=asynchronous))

    names = {(p, a): f"pinned={p} non_blocking={a}" for p in (False, True) for a in (False, True)}
    spent = _turns({name: functools.partial(step, *how) for how, name in names.items()})
    ratios = {
        f"{names[slow]} / {names[fast]}": ratio(spent[names[slow]], spent[names[fast]])
        for slow, fast in (((False, False), (True, False)), ((True, False), (True, True)))
    }
    wrong = [difference(what, *slower(found)) for what, found in ratios.items() if found["low"] <= 1 + _LEAST]
    return {"us": {name: statistics.median(times) for name, times in spent.items()}, **ratios, "differences": wrong}


def claims(mode: str) -> dict[str, Any]:
    """The slow and the fast form of each rule: their times on a GPU, their copies and waits on the simulated device."""
    found: dict[str, Any] = {}
    for path in sorted((ROOT / "fixtures").glob("*/run.py")):
        found[path.parent.name] = _timed(path) if mode == "gpu" else _counted(path)
    wrong = [difference(name, *slower(row)) for name, row in found.items() if row.get("low", 2.0) <= 1 + _LEAST]
    return {"forms": found, "differences": wrong}


def _timed(path: Path) -> dict[str, float]:
    forms = runpy.run_path(str(path))
    spent = _turns({form: functools.partial(forms[form], "cuda") for form in ("slow", "fast")})
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


def _turns(works: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
    from torchlint.runtime.calibrate import taking_turns

    return taking_turns(works, _ROUNDS)


def ratio(slow: Sequence[float], fast: Sequence[float]) -> dict[str, float]:
    """The median ratio of paired times, with its 99 % interval."""
    from torchlint.confirm.compare import interval

    logs = [math.log(one / other) for one, other in zip(slow, fast, strict=True)]
    low, high = interval(logs)
    return {"ratio": math.exp(statistics.median(logs)), "low": math.exp(low), "high": math.exp(high)}


def slower(found: Mapping[str, float]) -> tuple[str, str]:
    """The verdict on a slow form that has not turned out to be slower."""
    figures = f"x{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    if found["high"] < 1 - _LEAST:
        return "fault", f"{figures}: the form that should be slow is the faster one"
    return "measured", f"{figures}: no difference on this device"


def overheads(mode: str) -> dict[str, Any]:
    """The overhead of observation, as ratios of pairs in random order; each pair begins with either."""
    import overhead

    found: dict[str, Any] = {}
    wrong = []
    order = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, most in _OVERHEADS.items():
            if mode != "gpu" and name == "busy":  # the simulation runs in Python, so that threads hold each other up
                continue
            ratios, same = [], True
            for _ in range(3 if mode == "gpu" else 1):
                how = {one: overhead.measure(name, one, folder) for one in order.sample([None, mode], 2)}
                ratios.append(how[mode]["us"] / how[None]["us"])
                same = same and how[mode]["total"] == how[None]["total"]
            found[name] = {"ratio": statistics.median(ratios), "all": ratios, "same_result": same}
            if not same:
                wrong.append(difference(name, "fault", "another result with observation"))
            if mode == "gpu" and found[name]["ratio"] > most:
                wrong.append(difference(name, "fault", f"overhead x{found[name]['ratio']:.2f}, {most} at most"))
    return {"ratios": found, "differences": wrong}


def output(command: list[str], **environment: str) -> str:
    """The output of a command. Raises ``RuntimeError`` with the end of its error output."""
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=whole, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return done.stdout


# The parts, with the seconds that each may take.
PARTS: dict[str, tuple[Callable[[str], dict[str, Any]], int]] = {
    "programs": (programs, 120),
    "features": (features, 240),
    "profile": (profile, 60),
    "synchronizing": (synchronizing, 60),
    "trace": (trace, 60),
    "timeline": (timeline, 60),
    "cells": (cells, 60),
    "claims": (claims, 120),
    "overheads": (overheads, 400),
}
