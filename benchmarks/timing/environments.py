"""Environments for the contestants: one for each peer, and one for torchlint as pre-commit would make it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
#: What torchlint is compared with, each in an environment of its own.
PEERS = {
    "hotpath-ai": "0.1.0",
    "pyrefly": "1.4.1",
    "ruff": "0.17.5",
    "torch-preflight": "0.5.0",
    "torchfix": "0.7.0",
}
_INSTALLED = """
import importlib.metadata as m, json
print(json.dumps({d.metadata["Name"].lower(): d.version for d in m.distributions()}))
"""


def peer(name: str, cache: Path) -> Path:
    """The folder with a peer's commands; the peer is installed when it is missing."""
    folder = cache / "peers" / f"{name}-{PEERS[name]}"
    marker = folder / "complete"
    if not marker.exists():
        _install(folder, f"{name}=={PEERS[name]}")
        marker.touch()
    return folder / "bin"


def own(cache: Path) -> Path:
    """The folder with the commands of this checkout's torchlint, installed anew and alone."""
    folder = cache / "peers" / "torchlint"
    _install(folder, str(ROOT))
    return folder / "bin"


def variables(*paths: Path) -> dict[str, str]:
    """The environment variables of measured processes, which import from these folders and keep compiled modules."""
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    found = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**found, "PYTHONPATH": os.pathsep.join(map(str, paths))} if paths else found


def versions(python: Path) -> dict[str, str]:
    """The distributions that this Python sees."""
    command = [str(python), "-c", _INSTALLED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def _install(folder: Path, requirement: str) -> None:
    print(f"installing {requirement} into {folder}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", requirement], check=True)
