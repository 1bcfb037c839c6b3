"""Measures whether following the advice makes programs faster: public programs, before and after.

``python benchmarks/worth.py FOLDER`` times the steps of each program of a folder: as it is; after ``torchlint --fix``;
after ``--fix --unsafe-fixes``; and after a patch that does what the warnings say. The original is measured twice in
every round, which shows the noise. A ratio is the time of a step divided by that of the original in the same round; the
table gives the median of the rounds, and its 99 % bootstrap interval.

FOLDER holds ``programs.json``, a list of programs with the fields of ``gains.programs.Program``:

    [{"name": "seq2seq", "repository": "keon/seq2seq", "commit": "0e124a7", "command": ["train.py", "-epochs", "9"],
      "data": ["make_data.py", "seq2seq"], "steps": 20, "small": {"arguments": ["-batch_size", "2"], "steps": 1}}]

and, for each of them, the folder ``NAME/original`` with its sources, and ``NAME/warnings.patch``. ``--prepare`` makes
the other variants from them, as ``NAME/safe``, ``NAME/unsafe`` and ``NAME/patched``: that needs ``patch`` and all that
torchlint needs, and measuring does not. A variant whose sources equal those of another one is not measured.

Each variant of each round runs in a process of its own, seeded alike. Those of a program start side by side and pause
after some steps; then one after the other is measured alone, in an order in which each has every place equally often.
A step ends with the step of an optimizer. On a GPU it is waited for at the ends of blocks of steps only, and the time
of a step is the median over the blocks of their time divided by their number of steps.

Everything that is measured is stored at once. Needs Linux or macOS.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gains import processes, programs, record
from gains.programs import ORIGINAL, Program, ProgramProblem, Variants

_FIRST = ("numpy", "torch", "torch._dynamo")  # the last is imported by optimizers


def order(count: int, number: int) -> list[int]:
    """The order of a round: a row of a square in which each has every place, and follows every other, equally often."""
    row = [(at + 1) // 2 if at % 2 else -(at // 2) for at in range(count)]
    found = [(place + number) % count for place in row]
    return found[::-1] if count % 2 and number // count % 2 else found


class Bench:
    """Measures programs, and keeps the results in a file."""

    def __init__(self, folder: Path, chosen: Sequence[Program], output: Path, scratch: Path, *, small: bool) -> None:
        self._output, self._scratch = output, scratch
        self._programs = [one.shrunk() if small else one for one in chosen]
        self._variants: dict[str, Variants] = {}
        self.record: dict[str, Any] = {
            "torch": sys.modules["torch"].__version__,
            "python": platform.python_version(),
            "date": datetime.now(timezone.utc).date().isoformat(),
            "rounds": 0,
            "small": small,
            "programs": {},
        }
        for program in self._programs:
            self._add(folder, program)

    def _add(self, folder: Path, program: Program) -> None:
        about: dict[str, Any] = {"repository": program.repository, "commit": program.commit, "warnings": {}, "same": {}}
        self.record["programs"][program.name] = {**about, "failed": {}, "measurements": []}
        try:
            made = programs.variants(folder, program)
            programs.write_data(folder, program, self._scratch / program.name / "data")
        except ProgramProblem as problem:
            self._fail(program, {ORIGINAL: str(problem)})
            return
        self._variants[program.name] = made
        self.record["programs"][program.name].update(warnings=dict(made.warnings), same=dict(made.same))

    def measure(self, rounds: int, limit: float | None) -> None:
        """Measure rounds, at least one and then as many as fit into the limit in seconds."""
        begun, longest = time.monotonic(), 0.0
        for number in range(rounds):
            since = time.monotonic()
            if number and limit is not None and since - begun + longest > limit:
                _say(f"stopped after {number} of {rounds} rounds: another one would exceed {limit:.0f} s")
                return
            for program in self._programs:
                if ORIGINAL not in self._kept(program)["failed"]:
                    self._measure(program, number)
            longest = max(longest, time.monotonic() - since)
            self.record["rounds"] = number + 1
            self._save()

    def _measure(self, program: Program, number: int) -> None:
        folders = {**self._variants[program.name].folders, record.AGAIN: self._variants[program.name].folders[ORIGINAL]}
        names = [name for name in folders if name not in self._kept(program)["failed"]]
        since = time.monotonic()
        running: list[processes.Running] = []
        try:
            for name in (names[at] for at in order(len(names), number)):
                folder = self._folder(program, f"{number}-{name}")
                running.append(processes.start(program, name, folders[name], folder, running))
            failed = processes.until_ready(running, program.seconds)
            self._fail(program, failed)
            ready = time.monotonic()
            for process in running if ORIGINAL not in failed else ():
                if process.variant not in failed:
                    self._one(program, number, process)
        finally:
            processes.end(running)
        spent = time.monotonic() - ready
        _say(f"round {number + 1}, {program.name}: {ready - since:.1f} s to start, {spent:.1f} s to measure")

    def _one(self, program: Program, number: int, process: processes.Running) -> None:
        try:
            found = processes.measured(process, program.seconds)
        except ProgramProblem as problem:
            self._fail(program, {process.variant: str(problem)})
            return
        self._kept(program)["measurements"].append({"round": number, "variant": process.variant, **found})
        self._save()

    def _folder(self, program: Program, name: str) -> Path:
        """A new current folder for a process, with the data."""
        root = self._scratch / program.name
        (root / name).mkdir()
        for path in (root / "data").iterdir():
            (root / name / path.name).symlink_to(path)
        return root / name

    def _fail(self, program: Program, reasons: Mapping[str, str]) -> None:
        for variant, reason in reasons.items():
            _say(f"{program.name}, {variant}: {reason}")
        self._kept(program)["failed"].update(reasons)
        self._save()

    def _kept(self, program: Program) -> dict[str, Any]:
        kept: dict[str, Any] = self.record["programs"][program.name]
        return kept

    def _save(self) -> None:
        record.save(self.record, self._output)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _import(names: Sequence[str]) -> None:
    """Import what processes would import, without touching a device, since CUDA does not work in forks of its users."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    for name in (*_FIRST, *names):
        try:
            importlib.import_module(name)
        except ImportError as problem:
            _say(f"not imported beforehand: {problem}")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder with the programs")
    parser.add_argument("--program", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurements (%(default)s)")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="begin no further round that would end later")
    parser.add_argument("--small", action="store_true", help="small sizes and few steps, to try it without a GPU")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the results (default: FOLDER/worth.json)")
    parser.add_argument("--prepare", action="store_true", help="make the variants anew, and measure nothing")
    parser.add_argument("--render", action="store_true", help="print the table of stored results")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the table; 1 if a program failed, 2 if there is nothing to measure."""
    options = _arguments(argv)
    folder: Path = options.folder.resolve()
    output: Path = (options.output or folder / "worth.json").resolve()
    if options.render:
        print(record.table(json.loads(output.read_text(encoding="utf-8"))))
        return 0
    try:
        chosen = [one for one in programs.read(folder) if not options.program or one.name in options.program]
        for program in chosen if options.prepare else ():
            programs.prepare(folder, program)
    except ProgramProblem as problem:
        _say(str(problem))
        return 2
    if options.prepare:
        return 0
    if not chosen:
        _say(f"{folder / programs.LIST}: there is no such program")
        return 2
    return _measured(folder, chosen, output, options)


def _measured(folder: Path, chosen: Sequence[Program], output: Path, options: argparse.Namespace) -> int:
    _import(sorted({name for program in chosen for name in program.imports}))
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(folder, chosen, output, Path(scratch), small=options.small)
        bench.measure(options.rounds, options.limit)
    print(record.table(bench.record))
    return int(any(program["failed"] for program in bench.record["programs"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
