"""Signals that end a run: one line of output, and no process or half-written file left behind.

A process that belongs to torchlint *handles* the signals and ends immediately. An exception is not reliable: if it is
raised during an import or in a callback, Python prints it and continues. In a program that calls torchlint, signals
keep their handlers, and ``KeyboardInterrupt`` is raised as usual. Standard library only.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_NUMBERS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
_CLEAR_LINE = b"\r\x1b[K"  # clears the progress bar


class _State:
    """The number of active critical sections, the signal that is waiting for them, and the original signal handlers."""

    holding = 0
    waiting: int | None = None
    owner: int | None = None


def take() -> None:
    """Install the handlers. Signals that the caller's shell ignores stay ignored, as under ``nohup``."""
    _State.owner = os.getpid()
    for number in _NUMBERS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _arrived)


def give_back() -> None:
    """Restore the original handlers."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _arrived:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def ignore() -> None:
    """Ignore signals from now on: the work is done and reported."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _arrived:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def held() -> Iterator[None]:
    """A critical section: signals are delivered at its end."""
    _State.holding += 1
    try:
        yield
    finally:
        _State.holding -= 1
        if not _State.holding and _State.waiting is not None:
            _end(_State.waiting)


@contextmanager
def blocked() -> Iterator[None]:
    """Block signals while a process is started; it unblocks them in :func:`leave_to_parent`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_parent() -> None:
    """In a child process: leave Ctrl-C to the parent, and restore the default action of the other signals."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _NUMBERS[1:]:
        if signal.getsignal(number) is _arrived:
            signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _NUMBERS)


def _arrived(number: int, _frame: object) -> None:
    if _State.holding:
        _State.waiting = number
    else:
        _end(number)


def _end(number: int) -> None:
    """End this process and its children at once; buffered output is lost."""
    ignore()
    if os.getpid() == _State.owner:
        _kill_children()
        what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        bar = _CLEAR_LINE if os.isatty(2) else b""
        with suppress(OSError):  # the reader of the pipe is gone
            os.write(2, bar + f"torchlint: {what}\n".encode())
    os._exit(128 + number)


def _kill_children() -> None:
    processes = sys.modules.get("multiprocessing.process")
    for child in processes.active_children() if processes is not None else ():
        child.kill()
