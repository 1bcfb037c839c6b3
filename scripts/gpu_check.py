"""Runs all checks that need a GPU, in one command of under eight minutes.

``python scripts/gpu_check.py`` on a machine with a GPU and torch 2.11 or newer writes ``evidence/<device>-<date>.json``
and prints a summary for ``docs/evidence.md``. Without a GPU it runs completely on the simulated one, writes to the file
given by ``--output``, and measures nothing.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import platform
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import torch  # noqa: E402 - the path has to be set first

_ROUNDS = 25
_MARK = re.compile(r'# (TL\d{3}) (confirmed|refuted|not reached|unknown) "')


def programs(mode: str) -> dict[str, Any]:
    """Run the scripted programs in a mode: the number of correct verdicts, and the wrong ones."""
    every = sorted([*ROOT.glob("tests/programs/*.py"), *ROOT.glob("fixtures/*/programs/*.py")])
    paths = [p for p in every if "# on: cpu" not in p.read_text("utf-8")]
    same, different = 0, []
    command = [sys.executable, "-m", "tests.programs_runner", "--mode", mode, *map(str, paths)]
    found = json.loads(_output(command).splitlines()[-1])
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            mark = _MARK.search(line)
            if mark is None:
                continue
            given = [v for v in found[str(path)] if (v["rule"], v["line"]) == (mark[1], number)]
            if given and given[0]["status"] == mark[2]:
                same += 1
            else:
                said = f"{given[0]['status']}: {given[0]['reason']}" if given else "no verdict"
                different.append(f"{path.name}:{number} {mark[1]}: {mark[2]} when simulated, here {said}")
    return {"mode": mode, "same": same, "different": different}


def prices(device: str) -> dict[str, Any]:
    """The profile of this device."""
    from torchlint.runtime.calibrate import profile

    return profile(torch.cuda.get_device_name()) if device == "cuda" else {"skipped": "needs a GPU"}


def modelled() -> dict[str, int]:
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


def table(device: str) -> dict[str, Any]:
    """Which operations synchronize, as reported by torch and in the simulation."""
    command = [sys.executable, str(Path(__file__).resolve()), "--modelled"]
    own = json.loads(_output(command, CUDA_VISIBLE_DEVICES="").splitlines()[-1])
    if device != "cuda":
        return {"modelled": own, "skipped": "needs a GPU to compare with"}
    from torchlint.runtime.calibrate import synchronising

    counted = synchronising()
    wrong = {n: [counted[n], own[n]] for n in counted if counted[n] >= 0 and bool(counted[n]) != bool(own[n])}
    return {"counted": counted, "modelled": own, "disagree": wrong}


def trace(device: str) -> dict[str, Any]:
    """Whether torch's callbacks interfere with exceptions of the program."""
    if device != "cuda":
        return {"skipped": "needs a GPU"}
    said = _output([sys.executable, "-m", "torchlint.runtime.selftest.trace"])
    return {"problems": json.loads(said.splitlines()[-1])}


def _output(command: list[str], **environment: str) -> str:
    """The output of a command. Raises ``RuntimeError`` with the end of its error output."""
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=whole, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return done.stdout


def cells(device: str) -> dict[str, float]:
    """Microseconds per step that copies a batch and computes, for all combinations of pinned and blocking."""
    layer = torch.nn.Conv2d(3, 64, 7, stride=2).to(device)
    found = {}
    for pinned in (False, True):
        batch = torch.ones(64, 3, 224, 224)
        batch = batch.pin_memory() if pinned and device == "cuda" else batch
        for asynchronous in (False, True):

            def step(batch: Any = batch, asynchronous: bool = asynchronous) -> None:
                with torch.no_grad():
                    for _ in range(4):
                        layer(batch.to(device, non_blocking=asynchronous))

            found[f"pinned={pinned} non_blocking={asynchronous}"] = _median(step, device)
    return found


def claims(device: str) -> dict[str, Any]:
    """Microseconds for the slow and the fast form of each rule, and their ratio."""
    found = {}
    for path in sorted((ROOT / "fixtures").glob("*/run.py")):
        forms = runpy.run_path(str(path))
        slow, fast = (_median(functools.partial(forms[form], device), device) for form in ("slow", "fast"))
        found[path.parent.name] = {"slow_us": slow, "fast_us": fast, "ratio": slow / fast}
    return found


def overheads(device: str) -> dict[str, Any]:
    """The overhead of observation, as ratios."""
    import overhead

    found: dict[str, Any] = {}
    mode = "gpu" if device == "cuda" else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("plain", "mlp", "cnn"):
            ratios, same = [], True
            for _ in range(3):
                bare, observed = overhead.measure(name, None, folder), overhead.measure(name, mode, folder)
                ratios.append(observed["us"] / bare["us"])
                same = same and observed["total"] == bare["total"]
            found[name] = {"mode": mode, "ratio": statistics.median(ratios), "all": ratios, "same_result": same}
    return found


def _median(work: Callable[[], Any], device: str) -> float:
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    spent = []
    rounds = _ROUNDS if device == "cuda" else 1
    for number in range(rounds + 3):
        wait()
        start = time.perf_counter_ns()
        work()
        wait()
        if number >= 3:
            spent.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(spent)


def check(device: str) -> dict[str, Any]:
    """Run every part; a part that fails is reported, and the others continue."""
    parts: dict[str, Callable[[], Any]] = {
        "programs": lambda: programs("gpu" if device == "cuda" else "sim"),
        "profile": lambda: prices(device),
        "synchronising": lambda: table(device),
        "trace": lambda: trace(device),
        "cells": lambda: cells(device),
        "claims": lambda: claims(device),
        "overheads": lambda: overheads(device),
    }
    found: dict[str, Any] = {
        "schema": 1,
        "device": torch.cuda.get_device_name() if device == "cuda" else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    }
    for name, part in parts.items():
        start = time.monotonic()
        try:
            found[name] = part()
        except Exception as error:  # the other parts are still useful
            traceback.print_exc()
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:500]}
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    return found


def summary(found: dict[str, Any]) -> str:
    """The evidence in Markdown."""
    lines = [f"## {found['device'] or 'no GPU'}, torch {found['torch']}, {found['date']}", ""]
    ran = found["programs"]
    if "same" in ran:
        lines.append(f"Scripted programs in `{ran['mode']}` mode: {ran['same']} verdicts as marked, others:")
        lines += [f"- {line}" for line in ran["different"]] or ["- none"]
    if "failed" not in found["claims"]:
        lines += ["", "| rule | slow | fast | ratio |", "| --- | --- | --- | --- |"]
        for name, row in found["claims"].items():
            lines.append(f"| {name} | {row['slow_us']:.0f} us | {row['fast_us']:.0f} us | {row['ratio']:.2f} |")
    if "failed" not in found["cells"]:
        lines += ["", "| batch | four copies and convolutions |", "| --- | --- |"]
        lines += [f"| {name} | {spent:.0f} us |" for name, spent in found["cells"].items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Check, write the evidence, print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="FILE", help="default: evidence/<device>-<date>.json")
    parser.add_argument("--modelled", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.modelled:
        print(json.dumps(modelled()))
        return 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not arguments.output:
        parser.error("there is no GPU, so that there is no evidence to keep; give --output to run all the same")
    found = check(device)
    name = re.sub(r"[^a-z0-9]+", "-", (found["device"] or "none").lower()).strip("-")
    target = Path(arguments.output) if arguments.output else ROOT / "evidence" / f"{name}-{found['date']}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(summary(found))
    return 1 if any(isinstance(part, dict) and "failed" in part for part in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
