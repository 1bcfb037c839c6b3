"""Limits on the processor time and memory for one file.

A timer interrupts the work on a file by an exception that only the engine catches. It needs the main thread and a
system with interval timers, and can only interrupt Python code: a C call that does not return is left to the parent of
a worker process (:mod:`torchlint.run.processes.parallel`).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from torchlint.base.inputs import read

if TYPE_CHECKING:
    from types import FrameType

T = TypeVar("T")

MAX_BYTES = 4_000_000
# Even the densest source text of this size stays below the memory limit.
LIGHT_BYTES = 200_000
# Megabytes that linting one file may add to the memory of the process.
MEMORY = 930
_POOL_BYTES = 150_000
_TICK = 0.25


class OverLimit(BaseException):
    """A file exceeds a limit. Not an ``Exception``, so that the handlers for errors in rules do not catch it."""


def is_much(contents: Iterable[bytes]) -> bool:
    """Whether linting these files takes longer than starting processes; one large file counts, too."""
    return sum(map(len, contents)) > _POOL_BYTES


def content(path: str) -> bytes:
    """The bytes of a source file, up to a size that shows that it is too large. Raises ``OSError``."""
    return read(path, MAX_BYTES)


def out_of_time(seconds: float) -> str:
    """What happened to a file that exceeds the time limit."""
    return f"timeout: linting this file took more than {seconds:g} s (`time-limit`)"


def out_of_memory() -> str:
    """What happened to a file that exceeds the memory limit."""
    return f"out of memory: linting this file took more than {MEMORY / 1000:g} GB"


class Exhausted(Exception):
    """All attempts to fix one file together have exceeded its time limit."""


class Budget:
    """The processor time for all attempts to fix one file, in seconds (0: no limit)."""

    def __init__(self, seconds: float, clock: Callable[[], float] | None = None) -> None:
        self.seconds = seconds
        self._clock = clock or time.thread_time
        self.spent = 0.0
        self._began: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Charge the time spent in this context."""
        self._began = self._clock()
        try:
            yield
        finally:
            spent, self._began = self._clock() - self._began, None
            self.charge(spent)

    def charge(self, seconds: float) -> None:
        """Charge time that was spent elsewhere."""
        self.spent += seconds

    def left(self) -> float:
        """The time for one more attempt; 0 if there is no limit. Raises :class:`Exhausted` if it is used up."""
        if not self.seconds:
            return 0.0
        running = self._clock() - self._began if self._began is not None else 0.0
        left = self.seconds - self.spent - running
        if left <= 0:
            raise Exhausted
        return left


def patience(seconds: float) -> float | None:
    """How long a parent waits for a worker process, whose own timer should have fired long before."""
    return 2 * seconds + 10 if seconds else None


def within(seconds: float, work: Callable[[], T]) -> T:
    """Run ``work`` with a limit of ``seconds`` (0: no limit) and of memory. Raises :class:`OverLimit`."""
    watch = _Watch(seconds)
    if not watch.start():
        return work()
    try:
        try:
            return work()
        finally:
            watch.stop()
    except OverLimit:
        watch.stop()  # the timer may have fired while it was being stopped
        raise


class _Watch:
    """The timer for one file. It counts processor time, so results do not depend on the load of the machine."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def start(self) -> bool:
        """Start the timer; False if it cannot be used, or if another part of the program is using it."""
        if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
            return False
        self._began, self._before = time.thread_time(), _memory()
        try:
            signal.signal(signal.SIGALRM, self._tick)
        except ValueError:  # not in the main thread
            return False
        signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        return True

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _tick(self, _: int, __: FrameType | None) -> None:
        # Raised again at every tick, since Python ignores exceptions in some places, such as finalizers.
        if self._seconds and time.thread_time() - self._began > self._seconds:
            raise OverLimit(out_of_time(self._seconds))
        if _memory() - self._before > MEMORY * 1_000_000:
            raise OverLimit(out_of_memory())


def _memory() -> int:
    """The memory of the process in bytes, or its peak if only that is known."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib costs start-up
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
