"""Whether runs under several versions of torch see the same: copies and waits, at the same lines, as often.

``python benchmarks/versions.py FOLDER EVIDENCE PYTHON [PYTHON ...]`` runs the self-test of the simulation and twelve of
the public programs of ``benchmarks/ground_truth``, whose checkouts are in FOLDER, with each of these interpreters. They
belong to environments with different versions of torch, with torchvision and what torchlint needs; torchlint itself is
the one of this repository. All are compared with the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import evaluate
from truth import programs, runs
from truth.programs import Program

from torchlint.confirm.evidence import COSTLY, Event
from torchlint.confirm.rates import per_step

NAMES = (
    *("nanogpt", "mingpt", "makemore", "cvae-mnist", "cnn", "rnn", "tutorial-gan", "tutorial-vae"),
    *("wgan-gp", "dcgan", "infogan", "aae"),
)
SAME = 0.02  # of a count per step
SELF_TEST = """
import json, torch
from torchlint.runtime import selftest
failed = {failure.name: failure.reason for failure in selftest.run()}
print(json.dumps({"torch": torch.__version__, "probes": len(selftest.all_probes()), "failed": failed}))
"""
Seen = dict[tuple[str, int, str], float]


def self_test(python: str) -> tuple[str, str]:
    """The version of an interpreter's torch, and how many probes of the self-test fail there."""
    settings = {**os.environ, "PYTHONPATH": str(runs.SOURCES)}
    done = subprocess.run([python, "-c", SELF_TEST], env=settings, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python}: the self-test ended with status {done.returncode}: {done.stderr[-300:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    failed = "".join(f"\n  {name}: {reason}" for name, reason in found["failed"].items())
    return found["torch"], f"{found['probes'] - len(found['failed'])} of {found['probes']} probes{failed}"


def seen(program: Program, checkout: Path, folder: Path, python: str) -> Seen:
    """Copies and waits for each step, by file, line and kind. Raises :class:`runs.RunProblem`."""
    recorded = runs.recorded(program, checkout, folder, python)
    found: dict[tuple[str, int, str], list[Event]] = defaultdict(list)
    for event in recorded.run.of(*COSTLY):
        inside = recorded.relative(event.place.path)
        if inside is not None:
            found[inside, event.place.line, event.kind].append(event)
    return {key: per_step(recorded.run, events) or 0.0 for key, events in found.items()}


def differences(first: Seen, other: Seen) -> list[str]:
    """The lines at which two runs see something else, in words."""
    return [
        f"{path}:{line} {kind}: {first.get(key, 0.0):.3g} a step, {other.get(key, 0.0):.3g} there"
        for key in sorted({*first, *other})
        for path, line, kind in [key]
        if abs(first.get(key, 0.0) - other.get(key, 0.0)) > SAME * max(first.get(key, 0.0), other.get(key, 0.0))
    ]


def main() -> None:
    """Print the self-tests, and the differences of all programs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the checkouts, as owner+name")
    parser.add_argument("evidence", type=Path, help="the folder for evidence of runs")
    parser.add_argument("pythons", nargs="+", type=Path, metavar="PYTHON", help="the interpreter of an environment")
    arguments = parser.parse_args()
    chosen = [one for one in programs.read() if one.name in NAMES]
    versions = {}
    for python in map(str, map(Path.absolute, arguments.pythons)):
        versions[python], said = self_test(python)
        print(f"torch {versions[python]}: {said}", flush=True)
    known: dict[str, Seen] = {}
    for python, version in versions.items():
        equal = 0
        for program in chosen:
            checkout = evaluate.checkout(arguments.folder, program.repository, program.checkout)
            try:
                found = seen(program, checkout, arguments.evidence / version, python)
            except runs.RunProblem as problem:
                print(problem)
                continue
            differing = differences(known.setdefault(program.name, found), found)
            equal += not differing
            for line in differing:
                print(f"torch {version}, {program.name}: {line}")
        print(
            f"torch {version}: {equal} of {len(chosen)} programs as under torch {next(iter(versions.values()))}",
            flush=True,
        )


if __name__ == "__main__":
    main()
