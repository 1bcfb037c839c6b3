"""The mode of a run: a real GPU, the simulated one, or only the CPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import torch

OLDEST = (2, 4)
# Accelerators that cannot be observed, by torch's name for the device.
OTHERS: dict[str, Any] = {"mps": torch.backends.mps, "xpu": torch.xpu}


class Refused(Exception):
    """The run cannot be observed as requested; a one-line reason with advice."""


def version() -> tuple[int, ...]:
    """The version of torch, as numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__.partition("+")[0])[:3])


def resolve(order: dict[str, Any]) -> tuple[str, list[str]]:
    """The mode, and notes on it. Raises :class:`Refused`."""
    if version()[:2] < OLDEST:
        raise Refused(f"torch {torch.__version__} is too old: confirm needs {OLDEST[0]}.{OLDEST[1]} or newer")
    asked = order["mode"]
    available = _available()
    if asked == "gpu" and not available:
        raise Refused(f"--on gpu: {_missing()}; use --on sim, or --on cpu")
    if asked == "cpu":
        return asked, []
    if asked in ("gpu", "auto"):
        if available:
            return "gpu", []
        if order.get("switch"):  # forms of a program are compared where it runs fastest: the simulation takes time
            return "cpu", []
        if not order.get("accelerated", True):
            return "cpu", ["nothing in the code mentions an accelerator: observed on the CPU"]
    return _simulated(order)


def _missing() -> str:
    """Why there is no GPU that can be observed."""
    for name, module in OTHERS.items():
        if module.is_available():
            return f"only devices that torch calls cuda can be observed, and this machine has {name}"
    return "torch was built without CUDA" if torch.version.cuda is None else "no GPU answers"


def _available() -> bool:
    """Whether there is a GPU, without initializing CUDA, which is left to the program."""
    name = "PYTORCH_NVML_BASED_CUDA_CHECK"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        return bool(torch.cuda.is_available())
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _simulated(order: dict[str, Any]) -> tuple[str, list[str]]:
    failed = order.get("selftest")
    if failed is None:
        known = _file(order)
        failed = _recalled(known)
        if failed is None:
            failed = _tested(known)
    if failed:
        named = ", ".join(failed[:3]) + (", ..." if len(failed) > 3 else "")
        count = f"{len(failed)} probe{'s' if len(failed) > 1 else ''}"
        note = (
            f"the simulation does not fit torch {torch.__version__}: {count} of its self-test failed ({named}); "
            "observed on the CPU instead"
        )
        return "cpu", [note]
    return "sim", []


def _file(order: dict[str, Any]) -> str | None:
    """The file for the result of the self-test with this torch; None if nothing is remembered."""
    folder = order.get("cache")
    parts = ["selftest", order["torchlint"], torch.__version__, f"{sys.version_info[0]}.{sys.version_info[1]}"]
    return os.path.join(folder, f"{'-'.join(parts)}.json") if folder else None


def _recalled(known: str | None) -> list[str] | None:
    """The failures of the self-test, if it has been run before."""
    try:
        if known is not None:
            with open(known, encoding="utf-8") as stream:
                return [str(probe) for probe in json.load(stream)]
    except (OSError, ValueError):
        pass
    return None


def _tested(known: str | None) -> list[str]:
    """Run the self-test; its failures are remembered, unless it has not run to its end."""
    failed, ended = _run()
    if known is not None and ended:
        try:
            os.makedirs(os.path.dirname(known), mode=0o700, exist_ok=True)
            with open(f"{known}.{os.getpid()}", "w", encoding="utf-8") as stream:
                json.dump(failed, stream)
            os.replace(f"{known}.{os.getpid()}", known)
        except OSError:  # it will run again next time
            pass
    return failed


def _run() -> tuple[list[str], bool]:
    """The failures of the self-test, and whether it has run to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "torchlint.runtime.selftest"], capture_output=True, text=True, check=False
    )
    try:
        return [str(probe) for probe in json.loads(done.stdout.splitlines()[-1])], True
    except (ValueError, IndexError):
        return [f"the self-test itself (status {done.returncode})"], False
