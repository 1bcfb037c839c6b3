"""What several parts need: differences with a verdict, and processes of their own.

Verdicts: ``fault`` (torchlint is wrong), ``measured`` (this device or machine is different, which is what measuring is
for), ``undecided``, and ``failed`` (the check itself).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts" / "gpu_check.py"
Row = dict[str, Any]  # some of what a part finds


@dataclass(frozen=True)
class Settings:
    """What the parts are told: ``mode`` is that of ``torchlint confirm --on``, ``programs`` are command lines."""

    mode: str
    programs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A part of the check. Its ``work`` yields what it finds about each item as soon as it is known.

    A process, which may take some ``seconds`` on a GPU, gets ``size`` items, or all if that is 0. Processes of parts
    that run ``together`` run side by side, with so many ``threads``. Those that work on ``whole`` lists yield nothing
    before they have been through all items.
    """

    items: Callable[[Settings], Sequence[str]]
    work: Callable[[Settings, Iterator[str]], Iterator[Row]]
    seconds: float
    size: int = 0
    together: bool = False
    whole: bool = False
    needs_gpu: bool = False
    threads: int = 1


def difference(what: str, verdict: str, why: str) -> dict[str, str]:
    """Something that is not as expected."""
    return {"what": what, "verdict": verdict, "why": why}


def differs(what: str, verdict: str, why: str) -> Row:
    """A row with one difference."""
    return {"differences": [difference(what, verdict, why)]}


def merge(found: Row, row: Mapping[str, Any]) -> None:
    """Add a row to what a part has found: lists are continued and integers added up."""
    for key, value in row.items():
        known = found.get(key)
        if isinstance(value, Mapping):
            merge(found.setdefault(key, {}), value)
        elif isinstance(known, list) or (type(known) is int and type(value) is int):
            found[key] = known + value
        else:
            found[key] = list(value) if isinstance(value, list) else value


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that imports this checkout, and what the caller's path of modules has."""
    given = [str(Path(entry).resolve()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    path = [str(ROOT), *(entry for entry in given if entry != str(ROOT))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **more}


def ran(arguments: Sequence[str], folder: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments in a folder, and with more in its environment."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment(**more), check=False)


def output(arguments: Sequence[str], **more: str) -> str:
    """The last line that Python prints. Raises ``RuntimeError`` with the end of its error output."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment(**more), check=False)
    if done.returncode or not done.stdout:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-600:]}")
    return done.stdout.splitlines()[-1]


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of what a process printed."""
    return next(iter(done.stdout.splitlines()[-1:]), "")
