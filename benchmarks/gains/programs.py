"""The programs in a folder, and their variants: what they become when the advice is followed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

LIST = "programs.json"
ORIGINAL, SAFE, UNSAFE, PATCHED = "original", "safe", "unsafe", "patched"
#: The variants with the options of torchlint that make them; a patch makes the last one.
FIXES = {SAFE: ("--fix",), UNSAFE: ("--fix", "--unsafe-fixes")}
_KEPT = "variants.json"
_PATCH = "warnings.patch"
_SOURCES = Path(__file__).resolve().parents[2]


class ProgramProblem(Exception):
    """A program cannot be prepared or measured; a one-line reason."""


@dataclass(frozen=True)
class Program:
    """A program: a script with its arguments, and which of its steps are timed.

    ``warm_up`` steps come first. After a pause, in which other processes are measured, come ``settle`` steps and then
    ``blocks`` blocks of ``steps`` steps. ``data`` is a script of the folder, with arguments, that writes the data into
    the folder where it runs. ``imports`` are modules that are imported once for all processes. ``seconds`` limits the
    time until the pause, and that after it. ``small`` replaces fields for a trial without a GPU; its ``arguments`` are
    added to the command.
    """

    name: str
    repository: str
    commit: str
    command: Sequence[str]
    steps: int = 20
    blocks: int = 5
    warm_up: int = 10
    settle: int = 3
    data: Sequence[str] = ()
    imports: Sequence[str] = ()
    seconds: float = 60
    small: Mapping[str, Any] = field(default_factory=dict)

    def shrunk(self) -> Program:
        """The program as it is tried without a GPU."""
        fields = dict(self.small)
        return replace(self, command=[*self.command, *fields.pop("arguments", ())], **fields)


@dataclass(frozen=True)
class Variants:
    """The folders of the variants that differ, and for the others, which one they are equal to.

    ``warnings`` counts torchlint's warnings by rule.
    """

    folders: Mapping[str, Path]
    same: Mapping[str, str]
    warnings: Mapping[str, int]


def read(folder: Path) -> list[Program]:
    """The programs of a folder. Raises :class:`ProgramProblem`."""
    try:
        return [Program(**one) for one in json.loads((folder / LIST).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as problem:
        raise ProgramProblem(f"{folder / LIST}: {problem}") from None


def variants(folder: Path, program: Program) -> Variants:
    """The variants of a program, which are made unless they are there. Raises :class:`ProgramProblem`."""
    root = folder / program.name
    if not (root / _KEPT).is_file():
        prepare(folder, program)
    kept = json.loads((root / _KEPT).read_text(encoding="utf-8"))
    folders = {name: root / name for name in (ORIGINAL, *kept["made"])}
    return Variants(folders, kept["same"], kept["warnings"])


def prepare(folder: Path, program: Program) -> None:
    """Make the variants of a program anew from its ``original`` folder. Raises :class:`ProgramProblem`."""
    root = folder / program.name
    (root / _KEPT).unlink(missing_ok=True)
    made: list[str] = []
    same = {}
    for name in (*FIXES, PATCHED):
        _make(root, name)
        equal = [other for other in (ORIGINAL, *made) if _sources(root / other) == _sources(root / name)]
        if equal:
            same[name] = equal[0]
            shutil.rmtree(root / name)
        else:
            made.append(name)
    kept = {"made": made, "same": same, "warnings": _warnings(root / ORIGINAL)}
    (root / _KEPT).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _make(root: Path, name: str) -> None:
    shutil.rmtree(root / name, ignore_errors=True)
    try:
        shutil.copytree(root / ORIGINAL, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as problem:
        raise ProgramProblem(f"{root.name}: {problem}") from None
    if name != PATCHED:
        _torchlint(root / name, *FIXES[name])
    elif (root / _PATCH).is_file():
        _run(["patch", "-s", "-p1", "--no-backup-if-mismatch", "-i", str((root / _PATCH).resolve())], root / name)


def _sources(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}


def _warnings(folder: Path) -> dict[str, int]:
    findings = json.loads(_torchlint(folder, "--output-format", "json"))["findings"]
    return dict(sorted(Counter(one["rule"] for one in findings if one["severity"] == "warning").items()))


def _torchlint(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "torchlint", "--isolated", "--no-cache", "--exit-zero", "-q", *options, "."]
    return _run(command, folder)


def _run(command: Sequence[str], folder: Path) -> str:
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_SOURCES), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=folder, env=settings, check=False, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ProgramProblem(f"{folder.parent.name}: {command[0]} failed: {said[-1] if said else done.returncode}")
    return done.stdout


def write_data(folder: Path, program: Program, target: Path) -> None:
    """Write the data of a program into a new folder. Raises :class:`ProgramProblem`."""
    target.mkdir(parents=True)
    if program.data:
        script, *arguments = program.data
        _run([sys.executable, str((folder / script).resolve()), *arguments], target)
