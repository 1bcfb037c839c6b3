"""Work in several processes: whatever becomes of a process, every item gets its answer."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchlint.run.processes import workers

BATCHES = [[1, 2, 3], [4, 5], [6], [7, 8, 9, 10]]
METHODS = ["spawn"] if sys.platform == "win32" else ["fork", "forkserver", "spawn"]
_folder = Path()


def start(folder: str) -> None:
    global _folder  # noqa: PLW0603 - each process has one
    _folder = Path(folder)


def squares(batch: list[int]) -> list[int]:
    return [item * item for item in batch]


def die_on_five(batch: list[int]) -> list[int]:
    if 5 in batch:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return squares(batch)


def die_once_on_five(batch: list[int]) -> list[int]:
    if 5 in batch:
        with contextlib.suppress(FileExistsError):
            (_folder / "died").mkdir()
            os._exit(9)
    return squares(batch)


def die_always(batch: list[int]) -> list[int]:
    os._exit(len(batch))


def have_too_little_memory(batch: list[int]) -> list[int]:
    if 5 in batch:
        raise MemoryError
    return squares(batch)


def fail(batch: list[int]) -> list[int]:
    raise LookupError(str(batch))


def answered(job: workers.Job[int, int], count: int = 2) -> dict[int, int | workers.Lost]:
    found: dict[int, int | workers.Lost] = {}
    for batch, answers in workers.results(job, BATCHES, count):
        each = [answers] * len(batch) if isinstance(answers, workers.Lost) else answers
        found.update(zip(batch, each, strict=True))
    return found


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> Iterator[str]:
    """One of the ways to start a process."""
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(before, force=True)


def job(work: Callable[[list[int]], list[int]], folder: Path) -> workers.Job[int, int]:
    return workers.Job(start, (str(folder),), work)


ALL = {item: item * item for batch in BATCHES for item in batch}


@pytest.mark.usefixtures("method")
def test_every_item_gets_its_answer_and_no_process_stays(tmp_path: Path) -> None:
    assert answered(job(squares, tmp_path)) == ALL
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("method")
def test_an_item_on_which_two_processes_die_is_all_that_is_lost(tmp_path: Path) -> None:
    assert answered(job(die_on_five, tmp_path)) == {**ALL, 5: workers.Lost.DIED}


@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_process_that_dies_once_loses_nothing(tmp_path: Path, count: int) -> None:
    assert answered(job(die_once_on_five, tmp_path), count) == ALL
    assert (tmp_path / "died").exists()


def test_too_little_memory_is_a_death_and_no_error_of_the_whole_run(tmp_path: Path) -> None:
    assert answered(job(have_too_little_memory, tmp_path)) == {**ALL, 5: workers.Lost.DIED}


def test_where_every_process_dies_every_item_is_reported(tmp_path: Path) -> None:
    assert answered(job(die_always, tmp_path)) == dict.fromkeys(ALL, workers.Lost.DIED)


def test_what_the_work_raises_is_raised_and_no_process_stays(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        answered(job(fail, tmp_path))
    assert multiprocessing.active_children() == []


def test_who_stops_listening_leaves_no_process(tmp_path: Path) -> None:
    found = workers.results(job(squares, tmp_path), BATCHES, 2)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_a_system_that_starts_no_process_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.Process, "start", refused)
    with pytest.raises(workers.NoProcess):
        answered(job(squares, tmp_path))


def test_fewer_processes_than_wished_for_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = multiprocessing.Process.start
    started: list[multiprocessing.Process] = []

    def start_one(process: multiprocessing.Process) -> None:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(process)
        own(process)

    monkeypatch.setattr(multiprocessing.Process, "start", start_one)
    assert answered(job(squares, tmp_path), 4) == ALL
