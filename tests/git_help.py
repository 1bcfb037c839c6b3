"""Git repositories for tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from torchlint.cli.main import main

GUILTY = "    y = x.cpu().clamp(0, {}).to(device)\n"
HEAD = "import torch\n\n\ndef f(x, device):\n"


def guilty(*numbers: int) -> str:
    """Code with a finding on every line after the fourth, unless there are none."""
    return HEAD + ("".join(map(GUILTY.format, numbers)) or "    return x\n")


class Git:
    """A repository in a folder, which is the current one."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main", *options)

    def __call__(self, *arguments: str, check: bool = True) -> str:
        """Run git; what it prints."""
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "protocol.file.allow=always"]
        done = subprocess.run([*command, *arguments], cwd=self.folder, capture_output=True, check=False)
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "replace")

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def commit(self, **files: str) -> None:
        """Commit everything, after writing these modules."""
        for name, text in files.items():
            self.write(f"{name}.py", text)
        self("add", "--all")
        self("commit", "-q", "--allow-empty", "-m", "a change")


def isolate(patch: pytest.MonkeyPatch) -> None:
    """Keep the developer's configuration of git away, and the variables of a hook that runs the tests."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        patch.delenv(name)
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def in_project(folder: Path, patch: pytest.MonkeyPatch) -> Git:
    """A repository with one commit, whose only file has one finding, as the current folder."""
    isolate(patch)
    repository = Git(folder / "project")
    repository.commit(old=guilty(1))
    patch.chdir(repository.folder)
    return repository


class Lint:
    """Runs torchlint."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> list[str]:
        """The places of all findings."""
        status = main(["--output-format", "concise", "--no-cache", *arguments])
        self.output, self.error = self._capsys.readouterr()
        found = re.findall(r"^(.+:\d+):\d+: TL", self.output, re.MULTILINE)
        assert status == bool(found), self.output + self.error
        return found

    def refused(self, *arguments: str) -> str:
        """The error of a run that cannot do its work."""
        assert main(["--no-cache", *arguments]) == 2
        output, error = self._capsys.readouterr()
        assert (output, error.count("\n"), "Traceback" in error) == ("", 1, False)
        return error


def notebook(*cells: str) -> str:
    """A notebook with these code cells, as Jupyter writes it."""
    listed: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(True)}
        for cell in cells
    ]
    metadata = {"kernelspec": {"language": "python", "name": "python3", "display_name": "Python 3"}}
    return json.dumps({"cells": listed, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
