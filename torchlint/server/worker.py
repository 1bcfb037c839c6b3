"""Jobs for the main thread, one after another, the most urgent first."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

# What is being typed or asked for; what a change means for other files; the first look at all files of a folder.
URGENT, SETTLING, SCANNING = 0, 1, 2
_ANY = 3


class Stopped(Exception):
    """The server is ending: a long job gives up."""


class _Job(NamedTuple):
    """A job; jobs of one urgency keep their order."""

    urgency: int
    number: int
    work: Callable[[], Any]
    future: Future[Any]


class Worker:
    """A queue of jobs. One thread calls :meth:`run`, any thread may submit jobs."""

    def __init__(self) -> None:
        self._jobs: list[_Job] = []
        self._numbers = itertools.count()
        self._ready = threading.Condition()
        self._running = _ANY  # the urgency of the job that is running
        self._stopped = False

    def submit(self, urgency: int, work: Callable[[], T]) -> Future[T]:
        """Queue a job; its future can be cancelled until it starts."""
        future: Future[T] = Future()
        with self._ready:
            heapq.heappush(self._jobs, _Job(urgency, next(self._numbers), work, future))
            self._ready.notify()
        return future

    def run(self) -> None:
        """Run jobs until :meth:`stop` is called."""
        while (job := self._next(_ANY, wait=True)) is not None:
            self._do(job)

    def pause(self) -> None:
        """Run the waiting jobs that are more urgent than the running one, which calls this where it can be interrupted.

        Raises :class:`Stopped` if the server is ending.
        """
        while (job := self._next(self._running, wait=False)) is not None:
            self._do(job)
        if self._stopped:
            raise Stopped

    def stop(self) -> None:
        """End :meth:`run` after the current job."""
        with self._ready:
            self._stopped = True
            self._ready.notify_all()

    def _next(self, below: int, *, wait: bool) -> _Job | None:
        with self._ready:
            while not self._stopped:
                if self._jobs and self._jobs[0].urgency < below:
                    return heapq.heappop(self._jobs)
                if not wait:
                    return None
                self._ready.wait()
        return None

    def _do(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        outer, self._running = self._running, job.urgency
        try:
            found = job.work()
        except Exception as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(found)
        finally:
            self._running = outer
