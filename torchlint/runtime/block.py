"""Observes a block of code: ``with torchlint.runtime.observe():``."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchlint.base.version import __version__
from torchlint.runtime import modes, processes
from torchlint.runtime.observation import Observation
from torchlint.runtime.sites import is_own

_SCHEMA = 1


@contextmanager
def observed(on: str, evidence: str | None) -> Iterator[None]:
    """Observe this process; print the verdicts if the block ends without an exception."""
    directory = os.path.abspath(evidence) if evidence else tempfile.mkdtemp(prefix="torchlint-")
    os.makedirs(directory, exist_ok=True)
    ordered = order(on, directory)
    mode, notes = modes.resolve(ordered)
    observation = Observation(ordered, mode, notes)
    path = os.path.join(directory, "order.json")
    observation.start(midway=True)
    processes.follow(observation, path)
    try:
        yield
    finally:
        processes.unfollow()
        observation.stop()
        observation.finish()
        _write(path, {**ordered, "files": _files(observation), "lint": True})
    sys.stdout.write(_verdict(directory))


def order(on: str, directory: str) -> dict[str, Any]:
    """What is observed where no command has said that."""
    here = os.getcwd()
    return {
        "schema": _SCHEMA,
        "torchlint": __version__,
        "run": uuid.uuid4().hex,
        "directory": directory,
        "base": here,
        "script": _caller() or "a block of code",
        "module": None,
        "arguments": [],
        "mode": on,
        "steps": None,
        "seconds": None,
        "devices": 1,
        "cache": os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "torchlint"
        ),
        "roots": sorted({here, os.path.dirname(_caller() or here)}),
        "marks": {},
        "switch": None,
        "findings": {},
        "recipes": {},
        "files": {},
    }


def _caller() -> str | None:
    """The file that contains the block."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_own(name) and os.path.basename(name) != "contextlib.py":
            return os.path.realpath(name) if os.path.isfile(name) else None
        frame = frame.f_back
    return None


def _files(observation: Observation) -> dict[str, str]:
    """The files in which events happened, with their SHA-256."""
    found = {}
    for event in observation.recorder.written():
        path = event["site"][0]
        if path and path not in found and os.path.isfile(path):
            with open(path, "rb") as stream:
                found[path] = hashlib.sha256(stream.read()).hexdigest()
    return found


def _write(path: str, order: dict[str, Any]) -> None:
    with open(f"{path}.partial", "w", encoding="utf-8") as stream:
        json.dump(order, stream)
    os.replace(f"{path}.partial", path)


def _verdict(directory: str) -> str:
    """The report, created by the static half in a child process."""
    command = [sys.executable, "-m", "torchlint", "verdict", directory, "--fail-on", "never"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout or done.stderr
