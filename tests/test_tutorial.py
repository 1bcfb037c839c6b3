"""The tutorial is followed: its commands run in order, and print what the page shows."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import companion_help

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(console|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_command_of_the_tutorial_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)  # as in a checkout
    shutil.copy(ROOT / "examples" / "train_cifar.py", tmp_path / "train.py")
    for kind, text in _BLOCK.findall(TEXT):
        if kind == "diff":
            subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=text, text=True, check=True)
            continue
        command, _, shown = text.partition("\n")
        name, *arguments = shlex.split(command.removeprefix("$ "))
        assert name == "torchlint"
        done = companion_help.warm_run(tmp_path, "-m", "torchlint", *arguments)
        printed = done.stdout + done.stderr
        assert re.fullmatch(_shortened(shown), printed, re.DOTALL), f"{command} prints\n{printed}"


def _shortened(shown: str) -> str:
    """A pattern of what the page shows: a line ``...`` stands for any lines, and one that ends with it goes on."""
    lines = (r"(?:.*\n)?" if line == "...\n" else _line(line) for line in shown.splitlines(keepends=True))
    return "".join(lines)


def _line(line: str) -> str:
    start = line.removesuffix("...\n")
    return re.escape(start) if start == line else rf"{re.escape(start)}[^\n]*\n"
