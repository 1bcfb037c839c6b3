"""Runs a program like Python itself, with its flagged expressions marked."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import types
from importlib.machinery import SourceFileLoader
from types import TracebackType
from typing import Any

from torchlint.runtime.observation import Observation
from torchlint.runtime.sites import is_own
from torchlint.runtime.steps import Enough

_SOON = 0.01


def run(observation: Observation, *, script: str | None, module: str | None, arguments: list[str]) -> int:
    """Run a script or a module as ``__main__``; returns its exit status."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    try:
        if script is not None:
            _run_script(observation, script, arguments, main)
        else:
            _run_module(module or "", arguments)
    except Enough:
        limit = "steps" if observation.steps.reached else "seconds"
        observation.ended = {"how": limit, "steps": observation.steps.count}
        return 0
    except SystemExit as left:
        status = _status(left.code)
        observation.ended = {"how": "exit", "status": status} if status else {"how": "finished"}
        return status
    except BaseException as error:
        return _failed(observation, error)
    observation.ended = {"how": "finished"}
    return 0


def limit_seconds(seconds: float) -> None:
    """Raise :class:`Enough` in the main thread after this many seconds."""

    def over(_number: int, frame: Any) -> None:
        if _in_callback(frame):  # torch would suppress the exception
            signal.setitimer(signal.ITIMER_REAL, _SOON)
            return
        raise Enough

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _in_callback(frame: Any) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "fire_callbacks":
            return True
        frame = frame.f_back
    return False


def _run_script(observation: Observation, script: str, arguments: list[str], main: types.ModuleType) -> None:
    path = os.path.abspath(script)
    sys.argv[:] = [script, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    loader = SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __loader__=loader, __builtins__=__builtins__, __cached__=None)
    main.__annotations__ = {}
    with open(path, "rb") as stream:
        code = observation.marks.compile(stream.read(), path)
    exec(code, main.__dict__)


def _run_module(module: str, arguments: list[str]) -> None:
    sys.argv[:] = [module, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.getcwd())
    runpy._run_module_as_main(module)  # type: ignore[attr-defined]


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _failed(observation: Observation, error: BaseException) -> int:
    """Print an exception like Python, without frames of the runtime, and record where it was raised."""
    site = observation.failed(error)
    if observation.mode == "sim" and observation.left is None:
        from torchlint.runtime.sim.subset import beyond, doubt

        reason, doubtful = beyond(error), doubt(error)
        if reason is not None:
            observation.left = (site, reason)
        elif doubtful is not None:
            observation.notes.append(doubtful)
    cleaned(error, set())
    sys.excepthook(type(error), error, error.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def cleaned(error: BaseException, seen: set[int]) -> None:
    """Remove the frames of the runtime from the tracebacks of an exception and its causes."""
    if id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_own(error.__traceback__)
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        if other is not None:
            cleaned(other, seen)


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    started = False
    kept: list[TracebackType] = []
    for entry in entries:
        name = entry.tb_frame.f_code.co_filename
        started = started or not (is_own(name) or name == "<frozen runpy>")
        if started and not is_own(name):
            kept.append(entry)
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made
