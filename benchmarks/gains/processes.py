"""Processes that run variants of a program side by side up to a pause, and then one after the other.

They are forked from a process that has imported torch, and has not used a device: starting takes a second or two less,
and all of them start at once. While one is measured the others are paused, with nothing queued on the device.
"""

from __future__ import annotations

import contextlib
import multiprocessing.connection as channels
import os
import random
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gains.clock import Clock
from gains.programs import Program, ProgramProblem

_READY = "ready"


@dataclass(frozen=True)
class Running:
    """A process: what it runs, and how to talk to it."""

    variant: str
    pid: int
    channel: Any
    output: Path


class _Pause:
    """The gate of a process: a channel to the one that started it, with whose end it ends."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def wait(self) -> None:
        self._channel.send(_READY)
        self._receive()

    def deliver(self, measured: dict[str, Any]) -> None:
        self._channel.send(measured)
        self._receive()  # until this process is killed

    def _receive(self) -> None:
        try:
            self._channel.recv()
        except EOFError:
            os._exit(1)


def start(program: Program, variant: str, sources: Path, folder: Path, others: Sequence[Running]) -> Running:
    """Run a variant, whose files are in ``sources``, in a new process with a current folder of its own."""
    here, there = channels.Pipe()
    output = folder / "output.txt"
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _begin(program, sources, folder, there, [here, *(other.channel for other in others)])
    there.close()
    with contextlib.suppress(OSError):  # it may have done so itself
        os.setpgid(pid, pid)
    return Running(variant, pid, here, output)


def _begin(program: Program, sources: Path, folder: Path, channel: Any, unneeded: Sequence[Any]) -> NoReturn:
    """What a new process does; it never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        for other in unneeded:
            other.close()
        os.chdir(folder)
        output = os.open("output.txt", os.O_WRONLY | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _run(program, sources, channel)
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(program: Program, sources: Path, channel: Any) -> None:
    import numpy as np
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    clock = Clock(program, _Pause(channel))
    register_optimizer_step_post_hook(clock.stepped)
    script, *arguments = program.command
    path = sources / script
    sys.argv[:] = [str(path), *arguments]
    sys.path[0] = str(path.parent)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    runpy.run_path(str(path), run_name="__main__")
    needed = program.warm_up + program.settle + program.blocks * program.steps
    print(f"the program ended after {clock.steps} steps, and {needed} are needed", file=sys.stderr)


def until_ready(processes: Sequence[Running], seconds: float) -> dict[str, str]:
    """Wait until all processes pause; returns why some do not."""
    deadline = time.monotonic() + seconds
    failed = {}
    for process in processes:
        try:
            _receive(process, deadline - time.monotonic())
        except ProgramProblem as problem:
            failed[process.variant] = str(problem)
    return failed


def measured(process: Running, seconds: float) -> dict[str, Any]:
    """Let a paused process go on, and wait for what it measures. Raises :class:`ProgramProblem`."""
    with contextlib.suppress(OSError):
        process.channel.send(_READY)
    found: dict[str, Any] = _receive(process, seconds)
    return found


def _receive(process: Running, seconds: float) -> Any:
    if not process.channel.poll(max(seconds, 0)):
        raise ProgramProblem("the time limit is over")
    try:
        return process.channel.recv()
    except (EOFError, OSError):
        said = process.output.read_text(encoding="utf-8", errors="replace").strip() if process.output.is_file() else ""
        raise ProgramProblem(said.splitlines()[-1] if said else "the process ended") from None


def end(processes: Sequence[Running]) -> None:
    """End processes, with those that they started."""
    for process in processes:
        process.channel.close()
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(process.pid, 0)
