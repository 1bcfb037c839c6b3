"""Lints files in several processes, if that pays: distributes the files and what the processes need to know.

Forked processes inherit what this process has read and imported, so they are started once LibCST is imported. During
the import, other processes prefilter the smaller files; most of those need nothing more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base import limits
from torchlint.model import SYNTAX_ERROR, FileResult, Problem
from torchlint.run.discovery import sources
from torchlint.run.rules import registry

if TYPE_CHECKING:
    from mmap import mmap

    from torchlint.project.merged import Project
    from torchlint.run.linting.file import Analysis
    from torchlint.run.linting.screened import Screened
    from torchlint.run.plan import Plan
    from torchlint.run.processes.workers import Lost

_BATCH_BYTES = 200_000
_PARTS = 6  # per process: batches become smaller towards the end, so that all processes finish at about the same time
# More than one process prefilters while another imports LibCST; a small file takes as long as this many bytes.
_AHEAD_BYTES = 6_000_000
_SMALL_FILE = 8_000

Work = tuple[str, bytes]


def analyze_all(todo: list[Work], what: Plan, project: Project, jobs: int) -> Iterator[tuple[Work, Analysis]]:
    """Lint files, in other processes if that pays; in no particular order."""
    shared = _Shared(what, project, dict(todo) if _forks() else None)
    known = _screened_ahead(todo, shared, jobs)
    ended = {path for path, found in known.items() if not (found.parses or found.may_suppress)}
    left = [work for work in todo if work[0] not in ended]
    if limits.is_much(data for _, data in left):
        yield from _in_processes(left, known, shared, jobs)
        todo = [work for work in todo if work[0] in ended]
    for path, data in todo:
        yield (path, data), what.analyze(data, path, project, known.get(path))


def _forks() -> bool:
    """Whether new processes are forked from this one."""
    from multiprocessing import get_start_method

    return get_start_method() == "fork"


# -- what another process does -------------------------------------------------------------------


class _Shared(NamedTuple):
    """What every process receives; without ``contents`` it reads the files itself, since pipes are slow.

    ``enough`` is one byte of shared memory: once it is set, no more files are prefiltered.
    """

    what: Plan
    project: Project
    contents: Mapping[str, bytes] | None
    enough: mmap | None = None


class _Task(NamedTuple):
    """What another process is told about a file; ``digest`` is that of the content it must find in the file."""

    path: str
    size: int
    digest: bytes
    known: Screened | None


_shared: _Shared | None = None


def _start(shared: _Shared) -> None:
    """Initialize a new process, and load the rules if they were not passed."""
    global _shared  # noqa: PLW0603 - a worker process serves one plan
    what = shared.what if shared.what.rules else shared.what._replace(rules=registry.load())
    _shared = shared._replace(what=what)


def _screen(batch: list[str]) -> list[Screened]:
    """Prefilter the files of a batch in order, until `enough` is set."""
    assert _shared is not None
    assert _shared.contents is not None
    assert _shared.enough is not None
    found = []
    for path in batch:
        if _shared.enough[0]:
            break
        found.append(_shared.what.screen(_shared.contents[path], path, _shared.project))
    return found


def _work(batch: list[_Task]) -> list[Analysis | None]:
    """Lint files whose content is what the parent has read; None for a file that has changed since."""
    assert _shared is not None
    return [_analyzed(task, _shared) for task in batch]


def _analyzed(task: _Task, shared: _Shared) -> Analysis | None:
    if shared.contents is not None:
        data = shared.contents[task.path]
    else:
        try:
            data = sources.content(task.path)
        except OSError:
            return None
        if _digest(data) != task.digest:
            return None
    return shared.what.analyze(data, task.path, shared.project, task.known)


def _digest(data: bytes) -> bytes:
    from hashlib import blake2b

    return blake2b(data, digest_size=16).digest()


# -- what this process does ----------------------------------------------------------------------


def _task(work: Work, shared: _Shared, known: Mapping[str, Screened]) -> _Task:
    path, data = work
    return _Task(path, len(data), _digest(data) if shared.contents is None else b"", known.get(path))


def _screened_ahead(todo: list[Work], shared: _Shared, jobs: int) -> dict[str, Screened]:
    """Let other processes prefilter the smaller files while this one imports LibCST."""
    if shared.contents is None or not shared.project.alone or _is_imported():
        return {}
    if not any(b"torch" in data for _, data in todo):
        return {}
    from mmap import mmap

    from torchlint.run.processes import workers

    parts = _partition(todo, max(1, jobs - 1))  # this process is busy, too
    enough = mmap(-1, 1)
    whole = limits.patience(shared.what.scopes.time_limit())  # for a part, regardless of its number of files
    patience = whole / max(map(len, parts)) if whole is not None else None
    job = workers.Job(_start, (shared._replace(enough=enough),), _screen, patience)
    found: dict[str, Screened] = {}
    try:
        for batch, results in workers.results(job, parts, len(parts), lambda: _import_analysis(enough)):
            if not isinstance(results, workers.Lost):  # the others are prefiltered when they are linted
                found.update(zip(batch, results, strict=False))
    except workers.NoProcess:
        pass
    return found


def _is_imported() -> bool:
    return "libcst" in sys.modules


def _import_analysis(done: mmap) -> None:
    """Import what linting needs, and tell the other processes when this is done."""
    import torchlint.analysis.dispatch
    import torchlint.analysis.module
    import torchlint.analysis.offers
    import torchlint.analysis.syntax.from_ast.parse
    import torchlint.run.linting.file  # noqa: F401

    done[0] = 1


def _partition(todo: list[Work], parts: int) -> list[list[str]]:
    """The paths of the smaller files, in this many parts of about the same size."""
    chosen: list[str] = []
    size = 0
    for path, data in sorted(todo, key=lambda work: (len(work[1]), work[0])):
        size += _SMALL_FILE + len(data)
        if size > _AHEAD_BYTES * parts:
            break
        chosen.append(path)
    return [chosen[i::parts] for i in range(min(parts, len(chosen)))]


def _batches(tasks: list[_Task], jobs: int) -> Iterator[list[_Task]]:
    """Batches of files, largest files first."""
    batch: list[_Task] = []
    size, left = 0, sum(task.size for task in tasks)
    for task in sorted(tasks, key=lambda task: (-task.size, task.path)):
        batch.append(task)
        size += task.size
        if size > min(_BATCH_BYTES, left // (_PARTS * jobs)):
            yield batch
            left -= size
            batch, size = [], 0
    if batch:
        yield batch


def _in_processes(
    todo: list[Work], known: Mapping[str, Screened], shared: _Shared, jobs: int
) -> Iterator[tuple[Work, Analysis]]:
    from torchlint.run.processes import workers

    what, project, left = shared.what, shared.project, dict(todo)
    tasks = [_task(work, shared, known) for work in todo]
    passed = (
        shared if shared.contents is not None else shared._replace(what=what._replace(rules=()))
    )  # loaded in each process
    job = workers.Job(_start, (passed,), _work, limits.patience(what.scopes.time_limit()))
    try:
        for batch, results in workers.results(job, _batches(tasks, jobs), jobs):
            answers: Iterable[Analysis | None] = (
                [_lost_file(task.path, results, what) for task in batch]
                if isinstance(results, workers.Lost)
                else results
            )
            for task, found in zip(batch, answers, strict=True):
                data = left.pop(task.path)
                yield (task.path, data), found or what.analyze(data, task.path, project)
    except workers.NoProcess:
        for path, data in left.items():
            yield (path, data), what.analyze(data, path, project)


def _lost_file(path: str, why: Lost, what: Plan) -> Analysis:
    """The result for a file on which two processes were lost."""
    from torchlint.run.linting.file import Analysis, unfinished
    from torchlint.run.processes import workers

    if why is workers.Lost.STUCK:
        config = what.scope(path).config
        return unfinished(path, limits.out_of_time(config.time_limit), config, {})
    reason = "the process that linted this file died twice; exclude the file, or give it more memory"
    return Analysis(FileResult(path, (), (Problem(path, f"{SYNTAX_ERROR} internal-error: {reason}"),)), {})
