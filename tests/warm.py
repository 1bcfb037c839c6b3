"""Runs Python commands without importing torch and torchlint each time, which takes three seconds.

A server imports them once, lints a text, and forks for every command. The forked process runs the command like
``python``, with its folder, environment and streams, and exits like any program. Processes that torchlint starts are
forked from the server, too. Tests of how processes start use ``subprocess``.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from torchlint import cli, confirm, edit, report, runtime
from torchlint.api import lint_source
from torchlint.config.config import Config

ROOT = Path(__file__).parents[1]
_ADDRESS = "TORCHLINT_TESTS_WARM"  # the path of the server's socket, for commands
_MOST = 1 << 17
HANGS = 1200.0  # seconds after which a command has certainly hung, on any machine
_LINTED = """
import numpy as np
import torch
from torch.utils.data import DataLoader

for x in DataLoader(np.zeros(3)):
    print(torch.tensor(x).to("cuda").item())
"""
_IMPORTED = (
    "torch._dynamo",  # imported by optimizers
    "torch.utils.cpp_extension",  # imported by simulations
    "torch.utils.data",
    *(
        module.name
        for package in (cli, confirm, edit, report, runtime)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    ),
)


class Process:
    """A command in a process forked from the server: the part of ``subprocess.Popen`` that torchlint uses."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: str = ".", streams: Any = (0, 1, 2)
    ) -> None:
        self.returncode: int | None = None
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(env[_ADDRESS])
        request = {"command": [*command], "folder": os.path.realpath(cwd), "environment": {**env}}
        socket.send_fds(self._server, [json.dumps(request).encode()], streams)
        self.pid = int(self._server.recv(_MOST))

    def poll(self) -> int | None:
        """The exit status, if the command has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; returns the exit status, which is negative after a signal."""
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("", timeout or 0)
            self.returncode = int(self._server.recv(_MOST))
            self._server.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Like ``subprocess.run`` for a command that begins with the interpreter, without input, capturing output."""
    done = run_bytes(command, folder, environment)
    return subprocess.CompletedProcess(command, done.returncode, str(done.stdout, "utf-8"), str(done.stderr, "utf-8"))


def run_bytes(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """The same with input and output as bytes."""
    environment = {**environment, _ADDRESS: _server()}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error, tempfile.TemporaryFile() as read:
        read.write(given)
        read.seek(0)
        streams = [stream.fileno() for stream in (read, out, error)]
        process = Process(command, environment, str(folder), streams)
        try:
            status = process.wait(HANGS)
        finally:
            process.kill()
        written = [_content(stream) for stream in (out, error)]
    return subprocess.CompletedProcess(command, status, *written)


def torchlint(folder: Path, *arguments: str | bytes, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run torchlint in a folder."""
    command = [sys.executable, "-m", "torchlint", *map(os.fsdecode, arguments)]
    return run_bytes(command, folder, os.environ, given)


def _content(stream: Any) -> bytes:
    stream.seek(0)
    written: bytes = stream.read()
    return written


# -- the server ----------------------------------------------------------------------------------


@cache
def _server() -> str:
    """The address of a server that exits when its input is closed, at the end of this process."""
    address = str(Path(tempfile.mkdtemp(), "socket"))
    command = [sys.executable, "-m", "tests.warm", address]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    atexit.register(server.communicate)
    return address


def main() -> None:
    """Import what commands need, and serve."""
    for module in _IMPORTED:
        importlib.import_module(module)
    lint_source(_LINTED, config=Config(select=("ALL",), preview=True))  # what is read and compiled at the first use
    gc.collect()
    gc.freeze()  # collections in forked processes need not look at what is here
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        with listener.accept()[0] as client:
            if os.fork() == 0:
                listener.close()
                _serve(client)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass
    shutil.rmtree(Path(sys.argv[1]).parent)


def _serve(client: socket.socket) -> NoReturn:
    """Run a client's command in a forked process, and send its id and exit status."""
    message, streams, _, _ = socket.recv_fds(client, _MOST, 3)
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)
        client.send(str(pid).encode())
        client.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
        os._exit(0)
    client.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    request = json.loads(message)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    _run(request["command"])


def _run(command: list[str]) -> NoReturn:
    """Run ``python -m MODULE ..`` in this process, and exit without finalizing torch, which takes a second."""
    module, *arguments = command[command.index("-m") + 1 :]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv, sys.path[0] = ["-m", *arguments], str(Path.cwd())
    if module == "torchlint":
        subprocess.Popen = Process  # type: ignore[assignment, misc]
    status: Any = 0
    try:
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    main()
