"""Runs a program under ``torchlint confirm --on sim`` and keeps its evidence, which later calls use again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from torchlint.confirm import evidence, order
from truth import programs
from truth.programs import Program

SOURCES = Path(__file__).resolve().parents[2]
ABOUT = "program.json"
LIMIT = 240  # seconds, after which a program is ended


class RunProblem(Exception):
    """A program failed; a one-line message with the file of its output."""


@dataclass(frozen=True)
class Recorded:
    """The evidence of a run, and where its repository lay."""

    program: Program
    made: order.Order
    run: evidence.Run
    root: Path
    date: str

    def relative(self, path: str) -> str | None:
        """The path of a file of the repository; None for others."""
        inside = path.startswith(f"{self.root}{os.sep}")
        return Path(path).relative_to(self.root).as_posix() if inside else None


def recorded(program: Program, checkout: Path, folder: Path, python: str = sys.executable) -> Recorded:
    """The evidence of a program in a folder. It is run first, by ``python``, unless it was before.

    Raises :class:`RunProblem` if it fails.
    """
    target = folder / program.name
    if _told(target) != program.order:
        _record(program, checkout, target, python)
    about = json.loads((target / ABOUT).read_text(encoding="utf-8"))
    made = order.read(str(target))
    return Recorded(program, made, evidence.read(str(target), made.run), Path(about["root"]), about["date"])


def _told(target: Path) -> object:
    about = target / ABOUT
    return json.loads(about.read_text(encoding="utf-8"))["program"] if about.is_file() else None


def _record(program: Program, checkout: Path, target: Path, python: str) -> None:
    shutil.rmtree(target, ignore_errors=True)
    root = Path(os.path.realpath(target.parent / "runs" / program.name))
    programs.prepare(program, checkout, root)
    folder = root / "checkout" / program.folder
    findings = root / "findings.json"
    lint = ["--output-format", "json", "--output-file", str(findings), "--no-cache", "--exit-zero"]
    _torchlint(["--isolated", *lint, str(root / "checkout")], folder)
    limits = ["--steps", str(program.steps), "--seconds", str(LIMIT)]
    kept = ["--findings", str(findings), "--evidence", str(target), "--fail-on", "never", "-q", "--isolated"]
    paths = [str(root / "stubs"), *program.path, str(SOURCES)]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    confirm = ["confirm", "--on", "sim", *limits, *kept, "--", *program.command]
    status = _torchlint(confirm, folder, environment, python)
    if status != 0 or not (target / order.NAME).is_file():
        raise RunProblem(f"{program.name} ended with status {status}; its output is in {folder / 'output.txt'}")
    about = {
        "program": program.order,
        "root": str(root / "checkout"),
        "date": time.strftime("%Y-%m-%d"),
        "seconds": round(time.monotonic() - began, 1),
    }
    (target / ABOUT).write_text(json.dumps(about), encoding="utf-8")


def _torchlint(
    words: list[str], folder: Path, environment: dict[str, str] | None = None, python: str = sys.executable
) -> int:
    command = [python, "-m", "torchlint", *words]
    with (folder / "output.txt").open("w", encoding="utf-8") as output:
        settings = {**os.environ, **(environment or {})}
        done = subprocess.run(command, cwd=folder, env=settings, check=False, stdout=output, stderr=subprocess.STDOUT)
    return done.returncode
