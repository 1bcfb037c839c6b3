"""Evidence from other processes: forked and spawned children observe themselves, and write their own files."""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing.popen_fork
import multiprocessing.process
import multiprocessing.spawn
import multiprocessing.util
import os
import runpy
import signal
import sys
import threading
from typing import Any

from torch.utils.data._utils import signal_handling

from torchlint.runtime.marks import Finder, Marks
from torchlint.runtime.observation import Observation

_OWN_HANDLER = "_torchlint"
_current: Observation | None = None


def follow(observation: Observation, order_path: str) -> None:
    """Observe the children of this process as well, and write evidence when processes end."""
    global _current  # noqa: PLW0603 - hooks of the interpreter cannot be taken back
    first = _current is None
    _current = observation
    if first:
        os.register_at_fork(after_in_child=_in_child)
    multiprocessing.util.register_after_fork(observation, _in_worker)
    patches = observation.patches
    patches.set(multiprocessing.process.BaseProcess, "start", _starting(observation))
    patches.set(multiprocessing.process.BaseProcess, "run", _running(multiprocessing.process.BaseProcess.run))
    line = _command_line(multiprocessing.spawn.get_command_line, order_path, observation)
    patches.set(multiprocessing.spawn, "get_command_line", line)
    patches.set(multiprocessing.popen_fork.Popen, "terminate", _terminating(observation))
    patches.set(signal_handling, "_set_worker_signal_handlers", _handling(observation))
    pid = os.getpid()
    atexit.register(lambda: observation.finish() if os.getpid() == pid else None)
    _on_termination(observation)


def unfollow() -> None:
    """Do not observe children that start from now on."""
    global _current  # noqa: PLW0603 - see above
    _current = None


def _in_child() -> None:
    if _current is not None:
        _current.forked()


def _in_worker(observation: Observation) -> None:
    """Write evidence at the end of a ``multiprocessing`` child, which has forgotten finalizers by then."""
    if _current is observation:
        multiprocessing.util.Finalize(None, observation.finish, exitpriority=100)
        _on_termination(observation)


def _handling(observation: Observation) -> Any:
    """Write evidence before SIGTERM ends loader workers, with status 0, as torch does, if their parent sends it."""
    real = signal_handling._set_worker_signal_handlers

    def set_worker_signal_handlers() -> None:
        real()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, terminated)

    def terminated(number: int, _frame: Any) -> None:
        observation.finish(how="signal", signal=number)
        if os.path.exists(_asked_to_end(observation, os.getpid())):
            os._exit(0)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return set_worker_signal_handlers


def _terminating(observation: Observation) -> Any:
    """Note which children the parent ends: Python does not tell them who sends a signal."""
    real = multiprocessing.popen_fork.Popen.terminate

    def terminate(process: Any) -> None:
        with contextlib.suppress(OSError), open(_asked_to_end(observation, process.pid), "w", encoding="utf-8"):
            pass
        real(process)

    return terminate


def _asked_to_end(observation: Observation, process: int) -> str:
    return os.path.join(observation.order["directory"], f"terminated-{process}")


def _on_termination(observation: Observation) -> None:
    """Write evidence before SIGTERM ends the process."""
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_DFL and not hasattr(before, _OWN_HANDLER):  # inherited by a forked child
        return
    pid = os.getpid()

    def terminated(number: int, _frame: Any) -> None:
        if os.getpid() == pid:
            observation.finish(how="signal", signal=number)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    setattr(terminated, _OWN_HANDLER, True)
    signal.signal(signal.SIGTERM, terminated)


def _starting(observation: Observation) -> Any:
    real = multiprocessing.process.BaseProcess.start

    def start(process: Any) -> None:
        real(process)
        if process.pid is not None:
            observation.children.append(process.pid)

    return start


def _running(real: Any) -> Any:
    """Record in the evidence that a child fails; ``multiprocessing`` prints the exception."""

    def run(process: Any) -> None:
        try:
            real(process)
        except Exception as error:
            if _current is not None:
                _current.failed(error)
            raise

    return run


# -- spawned children ----------------------------------------------------------------------------


def _command_line(real: Any, order_path: str, observation: Observation) -> Any:
    """The command line ``python -c PROGRAM`` of a spawned child, changed so that it starts to observe first."""
    arguments = f"{order_path!r}, {observation.mode!r}"

    def get_command_line(**kwargs: Any) -> list[str]:
        command: list[str] = list(real(**kwargs))
        if "-c" in command:
            at = command.index("-c") + 1
            begin = f"from torchlint.runtime.processes import spawned; spawned({arguments}); "
            command[at] = begin + command[at]
        return command

    return get_command_line


def spawned(order_path: str, mode: str) -> None:
    """Start to observe in a spawned child. If that fails, the child continues, and its evidence is missing."""
    try:
        with open(order_path, encoding="utf-8") as stream:
            order = json.load(stream)
        observation = Observation(order, mode, role="spawned")
        mark_modules(observation.marks)
        observation.start()
    except Exception as error:  # the program matters more than its observation
        sys.stderr.write(f"torchlint: a spawned process is not observed: {error}\n")
        return
    follow(observation, order_path)
    multiprocessing.util.Finalize(None, observation.finish, exitpriority=100)


def mark_modules(marks: Marks, at: int = 0) -> None:
    """Compile flagged files with their marks when they are imported, or run by ``runpy``.

    ``at`` is the index in the list of import finders.
    """
    marks.files.listen()
    sys.meta_path.insert(at, Finder(marks))
    real: Any = runpy._get_code_from_file  # type: ignore[attr-defined]

    def code_from_file(*args: Any) -> Any:
        path = os.fspath(args[-1])
        if os.path.realpath(path) not in marks.by_file:
            return real(*args)
        with open(path, "rb") as stream:
            code = marks.compile(stream.read(), path)
        return (code, path) if len(args) > 1 else code

    runpy._get_code_from_file = code_from_file  # type: ignore[attr-defined]
