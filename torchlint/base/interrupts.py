"""Signals that end a run: one line, and neither a process nor a half-written file left behind.

A process that is torchlint's own *takes* the signals. An exception would not do: raised in the middle of an import or
of a callback, Python prints it and goes on. Where nothing is taken, as in a program that calls torchlint,
``KeyboardInterrupt`` is raised as ever. Standard library only.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_NUMBERS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
_CLEAR_LINE = b"\r\x1b[K"  # of the progress bar


class _State:
    """How many things may not be left half done, which signal waits for them, and whose signals these are."""

    holding = 0
    waiting: int | None = None
    owner: int | None = None


def take() -> None:
    """Have the signals end this process. What the caller's shell has ignored stays ignored, as under ``nohup``."""
    _State.owner = os.getpid()
    for number in _NUMBERS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _arrived)


def give_back() -> None:
    """Leave the signals to Python and to whoever else wants them."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _arrived:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def ignore() -> None:
    """The work is done and said: nothing is left to be ended."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _arrived:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def held() -> Iterator[None]:
    """Do something short as a whole: a signal waits for the end of it."""
    _State.holding += 1
    try:
        yield
    finally:
        _State.holding -= 1
        if not _State.holding and _State.waiting is not None:
            _end(_State.waiting)


@contextmanager
def blocked() -> Iterator[None]:
    """Start a process that gets no signal before it has called :func:`leave_to_parent`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_parent() -> None:
    """In a process that was started: Ctrl-C is the parent's to answer, and other signals mean what they always do."""
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
    """End this process and those that it started, at once; what is not yet written stays unwritten."""
    ignore()
    if os.getpid() == _State.owner:
        _kill_children()
        what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        bar = _CLEAR_LINE if os.isatty(2) else b""
        with suppress(OSError):  # nobody reads it any more
            os.write(2, bar + f"torchlint: {what}\n".encode())
    os._exit(128 + number)


def _kill_children() -> None:
    processes = sys.modules.get("multiprocessing.process")
    for child in processes.active_children() if processes is not None else ():
        child.kill()
