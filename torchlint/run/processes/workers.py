"""Worker processes that may die.

Each process has its own pipe and one batch at a time, so that it is known which batch is lost when a process dies. The
items of that batch are tried once more, one by one and after everything else: the cause, such as too little memory, may
be gone. A process whose parent dies finds its pipe closed and exits.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from multiprocessing import Pipe, Process, get_start_method
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any, Generic, TypeVar

from torchlint.base import interrupts

Item = TypeVar("Item")
Answer = TypeVar("Answer")
_LAST = 5.0
_LOOK = 1.0


class Lost(Enum):
    """How two processes were lost on one item: they died, or were killed after a timeout."""

    DIED = "died"
    STUCK = "stuck"


class NoProcess(Exception):
    """The system cannot start any process; the caller must do the remaining work."""


class Job(Generic[Item, Answer]):
    """What every process does: call ``start`` once with ``given``, and then ``work`` for each batch.

    A process without a result after ``patience`` seconds per item of its batch is killed; None means no timeout.
    """

    def __init__(
        self,
        start: Callable[..., None],
        given: tuple[Any, ...],
        work: Callable[[list[Item]], Sequence[Answer]],
        patience: float | None = None,
    ) -> None:
        self.start, self.given, self.work, self.patience = start, given, work, patience


def results(
    job: Job[Item, Answer],
    batches: Iterable[list[Item]],
    count: int,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[tuple[list[Item], Sequence[Answer] | Lost]]:
    """Each batch with its results, as they arrive; for an item on which two processes were lost, how.

    ``meanwhile`` is called in this process once all others have their first batches. Exceptions of ``work`` are raised
    here. Raises :class:`NoProcess`.
    """
    lost: list[tuple[list[Item], Lost]] = []
    yield from _spread(job, deque(batches), count, lost, meanwhile)
    again = deque([item] for batch, _ in lost for item in batch)
    dead: list[tuple[list[Item], Lost]] = []
    yield from _spread(job, again, 1, dead)
    yield from dead


class _Worker(Generic[Item]):
    """A process, its pipe, and its current batch."""

    def __init__(self, process: Process, pipe: Connection, batch: list[Item]) -> None:
        self.process, self.pipe, self.batch = process, pipe, batch
        self.since = monotonic()
        self.stuck = False

    def watch(self, patience: float) -> None:
        """Kill the process if its batch takes too long."""
        if not self.stuck and monotonic() - self.since > patience * len(self.batch):
            self.stuck = True
            self.process.kill()


def _spread(
    job: Job[Item, Answer],
    waiting: deque[list[Item]],
    count: int,
    lost: list[tuple[list[Item], Lost]],
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[tuple[list[Item], Sequence[Answer]]]:
    """Run this many processes until all batches are done; batches of lost processes are appended to ``lost``."""
    busy: dict[Connection, _Worker[Item]] = {}
    try:
        while waiting or busy:
            _fill(job, waiting, count, busy)
            if meanwhile is not None:
                meanwhile()
                meanwhile = None
            for worker in busy.values() if job.patience is not None else ():
                worker.watch(job.patience or 0.0)
            for ready in wait(list(busy), _LOOK if job.patience is not None else None):
                worker = busy[ready]  # type: ignore[index]
                batch = worker.batch
                try:
                    found = worker.pipe.recv()
                except (EOFError, OSError):
                    _end(busy.pop(worker.pipe))
                    lost.append((batch, Lost.STUCK if worker.stuck else Lost.DIED))
                    continue
                if isinstance(found, BaseException):
                    raise found
                _go_on(worker, waiting, busy)
                yield batch, found
    finally:
        for worker in busy.values():
            worker.process.kill()
        for worker in busy.values():
            _end(worker)


def _go_on(worker: _Worker[Item], waiting: deque[list[Item]], busy: dict[Connection, _Worker[Item]]) -> None:
    """Send the next batch to a process that has finished one, or end the process."""
    if waiting and _sent(worker.pipe, waiting[0]):
        worker.batch, worker.since = waiting.popleft(), monotonic()
    else:
        del busy[worker.pipe]
        _end(worker)


def _fill(
    job: Job[Item, Answer], waiting: deque[list[Item]], count: int, busy: dict[Connection, _Worker[Item]]
) -> None:
    """Start processes while there is work for them."""
    while waiting and len(busy) < count:
        try:
            worker = _started(job, waiting[0])
        except OSError as error:
            if busy:
                return  # continue with fewer processes
            raise NoProcess(str(error)) from error
        waiting.popleft()
        busy[worker.pipe] = worker


def _started(job: Job[Item, Answer], batch: list[Item]) -> _Worker[Item]:
    ours, theirs = Pipe()
    process = Process(target=_serve, args=(job, ours, theirs), daemon=True)
    try:
        with interrupts.blocked(), _safe_path():
            process.start()
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    _sent(ours, batch)  # if this fails, the process is dead, and reading from the pipe will show it
    return _Worker(process, ours, batch)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the current folder off the module path of a spawned Python process (from Python 3.11 on)."""
    name = "PYTHONSAFEPATH"
    if get_start_method() == "fork" or name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]


def _sent(pipe: Connection, batch: list[Item] | None) -> bool:
    try:
        pipe.send(batch)
    except OSError:
        return False
    return True


def _end(worker: _Worker[Item]) -> None:
    """End a process, and kill it if it does not exit soon."""
    _sent(worker.pipe, None)
    worker.pipe.close()
    worker.process.join(_LAST)
    if worker.process.exitcode is None:
        worker.process.kill()
        worker.process.join()
    worker.process.close()


def _serve(job: Job[Item, Answer], ours: Connection, theirs: Connection) -> None:
    """The main function of a worker process."""
    interrupts.leave_to_parent()
    ours.close()
    job.start(*job.given)
    with suppress(EOFError, OSError):
        while (batch := theirs.recv()) is not None:
            theirs.send(_answer(job, batch))


def _answer(job: Job[Item, Answer], batch: list[Item]) -> Sequence[Answer] | BaseException:
    try:
        return job.work(batch)
    except MemoryError:
        os._exit(1)  # as if the system had killed the process
    except Exception as error:
        return error
