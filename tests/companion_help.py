"""Helpers for tests of the runtime companion: write programs to a folder, and run them under observation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests import warm
from torchlint import __version__

TRAINING = """
import torch
from torch.utils.data import DataLoader

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(torch.randn(32, 8), batch_size=4)
total = 0.0
for x in loader:
    loss = model(x.to(device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(total.hex())
"""


_ROOT = Path(__file__).parents[1]
CONFIRM = ("-m", "torchlint", "confirm", "--isolated", "--on")


def write(folder: Path, source: str, name: str = "program.py") -> Path:
    """Write a program."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")
    return path


def run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=_environment(**more),
        capture_output=True,
        text=True,
        timeout=warm.HANGS,
        check=False,
    )


def warm_run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a module, in a process that has already imported torch."""
    return warm.run([sys.executable, *command], folder, _environment())


def confirm(folder: Path, *arguments: str, on: str = "sim") -> subprocess.CompletedProcess[str]:
    """``torchlint confirm``, in processes that have already imported torch."""
    return warm_run(folder, *CONFIRM, on, *arguments)


def _environment(**more: str) -> dict[str, str]:
    """The environment of a command, in which the self-test of the simulation has passed; it has its own test."""
    import torch

    cache = Path(os.environ["XDG_CACHE_HOME"], "torchlint")
    cache.mkdir(mode=0o700, exist_ok=True)
    versions = (__version__, torch.__version__, f"{sys.version_info[0]}.{sys.version_info[1]}")
    Path(cache, f"selftest-{'-'.join(versions)}.json").write_text("[]", encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(_ROOT), **more}


def confirmed(folder: Path, *arguments: str, on: str = "sim") -> dict[str, Any]:
    """The JSON document of ``torchlint confirm``."""
    done = confirm(folder, "--output-format", "json", "--output-file", "report.json", *arguments, on=on)
    assert (folder / "report.json").exists(), done.stderr
    document: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {**document, "status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def verdict(document: dict[str, Any], rule: str) -> dict[str, Any]:
    """The verdict on the only finding of a rule."""
    found = [finding["verdict"] for finding in document["findings"] if finding["rule"] == rule]
    assert len(found) == 1, [finding["rule"] for finding in document["findings"]]
    first: dict[str, Any] = found[0]
    return first
