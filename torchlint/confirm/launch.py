"""Runs the observed program in a child process, and reports its progress."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchlint.confirm.order import Order
from torchlint.confirm.prepare import python

_LOOK = 0.5
_GRACE = 10.0
_MORE_GRACE = 5.0
# Reports progress: steps, seconds, synchronizations so far.
Told = Callable[[int, float, int], None]


@dataclass(frozen=True)
class Ended:
    """How the program ended: its exit status, and why it was not observed if it was not."""

    status: int
    refused: str | None = None


def launch(order_path: str, made: Order, told: Told | None) -> Ended:
    """Run the program of an order to its end. Interrupts reach it directly; this process waits for it.

    Except on a GPU, CUDA is hidden from the program.
    """
    directory, run, seconds = made.directory, made.run, made.seconds
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if made.mode in ("cpu", "sim") else {}
    command = [*python(), "-m", "torchlint.runtime", order_path]
    started: float | None = None
    child = subprocess.Popen(command, env={**os.environ, **hidden})
    with _forwarding(child) as asked:
        while child.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK)
            if asked and time.monotonic() - asked[0] > _GRACE:
                child.kill()
            if started is None and _has_begun(directory):
                started = time.monotonic()
            if started is not None:
                _end_if_late(child, started, seconds)
                if told is not None:
                    _tell(directory, run, started, told)
    return Ended(_exit_status(child.returncode), _refusal(directory, run))


def _exit_status(code: int) -> int:
    """The status with which this process ends as the program did.

    On Windows, a crash has a code above what an exit status can hold; the negative number with the same bits is equal.
    """
    if code < 0:  # a signal of POSIX
        return 128 - code
    return code - 2**32 if code >= 2**31 else code


@contextlib.contextmanager
def _forwarding(child: subprocess.Popen[bytes]) -> Any:
    """Leave Ctrl-C to the program, and forward SIGTERM to it; yields the time of the first signal."""
    asked: list[float] = []

    def forward(number: int, _frame: object) -> None:
        asked.append(time.monotonic())
        with contextlib.suppress(OSError):
            child.send_signal(number)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, forward),
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_begun(directory: str) -> bool:
    """Whether the program itself is running, after torch has been imported and the simulation tested."""
    return bool(glob.glob(os.path.join(directory, "evidence-*.json")))


def _end_if_late(child: subprocess.Popen[bytes], started: float, seconds: float | None) -> None:
    """End a program that exceeds its time limit."""
    if seconds is None:
        return
    late = time.monotonic() - started - seconds
    if late > _GRACE + _MORE_GRACE:
        child.kill()
    elif late > _GRACE:
        child.terminate()


def _tell(directory: str, run: str, started: float, told: Told) -> None:
    steps = waits = 0
    for path in glob.glob(os.path.join(directory, "evidence-*.json")):
        try:
            with open(path, encoding="utf-8") as stream:
                document = json.load(stream)
            if document["run"] == run and document["process"]["role"] == "main":
                steps = max(steps, document["steps"]["count"])
                waits += sum(event["count"] for event in document["events"] if event["kind"] == "sync")
        except (OSError, ValueError, KeyError, TypeError):  # incomplete, or written by another program
            continue
    told(steps, time.monotonic() - started, waits)


def _refusal(directory: str, run: str) -> str | None:
    try:
        with open(os.path.join(directory, "refused.json"), encoding="utf-8") as stream:
            document = json.load(stream)
        return str(document["reason"]) if document["run"] == run else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
