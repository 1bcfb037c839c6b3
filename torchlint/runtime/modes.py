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
        built = "torch was built without CUDA" if torch.version.cuda is None else "no GPU answers"
        raise Refused(f"--on gpu: {built}; use --on sim, or --on cpu")
    if asked == "cpu":
        return asked, []
    if asked in ("gpu", "auto"):
        if available:
            return "gpu", _traceable(order)
        if not order.get("accelerated", True):
            return "cpu", ["nothing in the code mentions an accelerator: observed on the CPU"]
    return _simulated(order)


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


def _traceable(order: dict[str, Any]) -> list[str]:
    """Disable torch's callbacks if they would interfere with exceptions of the program."""
    failed = _remembered(order, "trace", "torchlint.runtime.selftest.trace")
    if not failed:
        return []
    order["untraced"] = True
    return [f"torch's account of synchronisations is not used ({failed[0]}): only copies are counted"]


def _simulated(order: dict[str, Any]) -> tuple[str, list[str]]:
    failed = order.get("selftest")
    if failed is None:
        failed = _remembered(order, "selftest", "torchlint.runtime.selftest")
    if failed:
        named = ", ".join(failed[:3]) + (", ..." if len(failed) > 3 else "")
        count = f"{len(failed)} probe{'s' if len(failed) > 1 else ''}"
        note = (
            f"the simulation does not fit torch {torch.__version__}: {count} of its self-test failed ({named}); "
            "observed on the CPU instead"
        )
        return "cpu", [note]
    return "sim", []


def _remembered(order: dict[str, Any], kind: str, module: str) -> list[str]:
    """The failures of a self-test with this torch, cached for this user."""
    folder = order.get("cache")
    name = f"{kind}-{order['torchlint']}-{torch.__version__}-{sys.version_info[0]}.{sys.version_info[1]}.json"
    known = os.path.join(folder, name) if folder else None
    if known and os.path.isfile(known):
        try:
            with open(known, encoding="utf-8") as stream:
                return [str(probe) for probe in json.load(stream)]
        except (OSError, ValueError):
            pass
    failed = _run(module)
    if known:
        try:
            os.makedirs(os.path.dirname(known), mode=0o700, exist_ok=True)
            with open(f"{known}.{os.getpid()}", "w", encoding="utf-8") as stream:
                json.dump(failed, stream)
            os.replace(f"{known}.{os.getpid()}", known)
        except OSError:  # it will run again next time
            pass
    return failed


def _run(module: str) -> list[str]:
    done = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, check=False)
    try:
        return [str(probe) for probe in json.loads(done.stdout.splitlines()[-1])]
    except (ValueError, IndexError):
        return [f"the self-test itself (status {done.returncode})"]
