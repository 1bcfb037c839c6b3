"""What one file may cost: processor time and memory, watched while it is linted.

An alarm ticks while a file is linted, and ends the work on it by an exception that nothing but the engine
catches. It needs the main thread and a system with interval timers, and reaches Python code only: what a
call into C does not give back is left to the parent of a worker process (:mod:`torchlint.run.parallel`).
"""

from __future__ import annotations

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
# Even the densest text of this size stays below the limit of memory.
LIGHT_BYTES = 200_000
# Megabytes that the work on one file may add to the process.
MEMORY = 930
_POOL_BYTES = 150_000
_TICK = 0.25
_ADVICE = "exclude the file, and please report it at https://github.com/torchlint/torchlint/issues"


class OverLimit(BaseException):
    """A file costs too much. Not an ``Exception``, so that no rule's net catches it."""


def is_much(contents: Iterable[bytes]) -> bool:
    """Linting these costs more than starting processes for it does; also one file, since a process can be killed."""
    return sum(map(len, contents)) > _POOL_BYTES


def content(path: str) -> bytes:
    """The bytes of a source file, as far as they show that it is too large. Raises ``OSError``."""
    return read(path, MAX_BYTES)


def out_of_time(seconds: float) -> str:
    """What is said of a file that takes too long."""
    return f"timeout: linting this file took more than {seconds:g} s (`time-limit`): {_ADVICE}"


def out_of_memory() -> str:
    """What is said of a file that takes too much memory."""
    return f"out of memory: linting this file took more than {MEMORY / 1000:g} GB: {_ADVICE}"


class Exhausted(Exception):
    """All attempts to repair one file have cost together what they may."""


class Budget:
    """Processor time for all attempts to repair one file together, in seconds (0: no limit)."""

    def __init__(self, seconds: float, clock: Callable[[], float] | None = None) -> None:
        self.seconds = seconds
        self._clock = clock or time.thread_time
        self.spent = 0.0
        self._began: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """What is done meanwhile is charged."""
        self._began = self._clock()
        try:
            yield
        finally:
            spent, self._began = self._clock() - self._began, None
            self.charge(spent)

    def charge(self, seconds: float) -> None:
        """This much was spent elsewhere."""
        self.spent += seconds

    def left(self) -> float:
        """What one more attempt may take; 0 where there is no limit. Raises :class:`Exhausted` when nothing is left."""
        if not self.seconds:
            return 0.0
        running = self._clock() - self._began if self._began is not None else 0.0
        left = self.seconds - self.spent - running
        if left <= 0:
            raise Exhausted
        return left


def patience(seconds: float) -> float | None:
    """How long a parent waits for a worker, whose own watch should have ended its work long before."""
    return 2 * seconds + 10 if seconds else None


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of the work; :class:`OverLimit` when it takes too long (0: no limit) or too much memory."""
    watch = _Watch(seconds)
    if not watch.start():
        return work()
    try:
        try:
            return work()
        finally:
            watch.stop()
    except OverLimit:
        watch.stop()  # the alarm may have rung while it was being stopped
        raise


class _Watch:
    """The alarm of one file. Time is that of the processor, so that a busy machine does not change results."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def start(self) -> bool:
        """Whether there is a watch now: an alarm that belongs to somebody else is left alone."""
        if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
            return False
        self._began, self._before = time.thread_time(), _memory()
        try:
            signal.signal(signal.SIGALRM, self._tick)
        except ValueError:  # not the main thread
            return False
        signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        return True

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _tick(self, _: int, __: FrameType | None) -> None:
        # Raised again at every tick, since Python drops exceptions in some places, such as finalizers.
        if self._seconds and time.thread_time() - self._began > self._seconds:
            raise OverLimit(out_of_time(self._seconds))
        if _memory() - self._before > MEMORY * 1_000_000:
            raise OverLimit(out_of_memory())


def _memory() -> int:
    """The memory of the process in bytes; where only its peak can be had, that."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib costs start-up
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
