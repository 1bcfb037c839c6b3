"""Files in several processes, where that pays: which file goes where, and what the processes are told.

Where processes begin as copies of this one, they have what it has read and imported. So whatever needs LibCST waits for
its import, and while that is going on, other processes screen the smaller files; most of those need nothing more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base import limits
from torchlint.model import SYNTAX_ERROR, FileResult, Problem
from torchlint.run import registry

if TYPE_CHECKING:
    from mmap import mmap

    from torchlint.project import Project
    from torchlint.run.engine import Analysis
    from torchlint.run.plan import Plan
    from torchlint.run.screened import Screened
    from torchlint.run.workers import Lost

_BATCH_BYTES = 200_000
_PARTS = 6  # for each process: batches become smaller towards the end, so that all processes end at about the same time
# More than what one process screens while another one imports LibCST; a small file takes as long as this many bytes.
_AHEAD_BYTES = 6_000_000
_SMALL_FILE = 8_000

Work = tuple[str, bytes]


def analyse_all(todo: list[Work], what: Plan, project: Project | None, jobs: int) -> Iterator[tuple[Work, Analysis]]:
    """Lint files, in other processes as far as that pays; in no order."""
    given = _Given(what, project, dict(todo) if _forks() else None)
    known = _screened_ahead(todo, given, jobs)
    ended = {path for path, found in known.items() if not (found.parses or found.may_suppress)}
    left = [work for work in todo if work[0] not in ended]
    if limits.is_much(data for _, data in left):
        yield from _in_processes(left, known, given, jobs)
        todo = [work for work in todo if work[0] in ended]
    for path, data in todo:
        yield (path, data), what.analyse(data, path, project, known.get(path))


def _forks() -> bool:
    """New processes begin as copies of this one."""
    from multiprocessing import get_start_method

    return get_start_method() == "fork"


# -- what another process does -------------------------------------------------------------------


class _Given(NamedTuple):
    """What every process is given; without ``contents`` it reads the files itself, since pipes are narrow.

    ``enough`` is one byte of memory that processes share: as soon as it is set, no more files are screened ahead.
    """

    what: Plan
    project: Project | None
    contents: Mapping[str, bytes] | None
    enough: mmap | None = None


class _Order(NamedTuple):
    """What another process is told of a file; ``digest`` is that of the content, where the process reads it itself."""

    path: str
    size: int
    digest: bytes
    known: Screened | None


_given: _Given | None = None


def _start(given: _Given) -> None:
    """In a new process: know what it is given, and find the rules where they were left out."""
    global _given  # noqa: PLW0603 - a worker process serves one plan
    what = given.what if given.what.rules else given.what._replace(rules=registry.load())
    _given = given._replace(what=what)


def _screen(batch: list[str]) -> list[Screened]:
    """Screen files until it is enough: the first ones of the batch."""
    assert _given is not None
    assert _given.contents is not None
    assert _given.enough is not None
    found = []
    for path in batch:
        if _given.enough[0]:
            break
        found.append(_given.what.screen(_given.contents[path], path))
    return found


def _work(batch: list[_Order]) -> list[Analysis | None]:
    """Lint files that hold what the parent has read; None for one that has been changed since."""
    assert _given is not None
    return [_analysed(order, _given) for order in batch]


def _analysed(order: _Order, given: _Given) -> Analysis | None:
    if given.contents is not None:
        data = given.contents[order.path]
    else:
        try:
            data = limits.content(order.path)
        except OSError:
            return None
        if _digest(data) != order.digest:
            return None
    return given.what.analyse(data, order.path, given.project, order.known)


def _digest(data: bytes) -> bytes:
    from torchlint.base.digests import blake2b

    return blake2b(data, digest_size=16).digest()


# -- what this process does ----------------------------------------------------------------------


def _order(work: Work, given: _Given, known: Mapping[str, Screened]) -> _Order:
    path, data = work
    return _Order(path, len(data), _digest(data) if given.contents is None else b"", known.get(path))


def _screened_ahead(todo: list[Work], given: _Given, jobs: int) -> dict[str, Screened]:
    """Have the smaller files screened while this process imports what the others need."""
    if given.contents is None or given.project is not None or _is_imported():
        return {}
    if not any(b"torch" in data for _, data in todo):
        return {}
    from mmap import mmap

    from torchlint.run import workers

    dealt = _dealt(todo, max(1, jobs - 1))  # this process is one as well
    enough = mmap(-1, 1)
    whole = limits.patience(given.what.scopes.time_limit())  # for a part, however many files there are in it
    patience = whole / max(map(len, dealt)) if whole is not None else None
    job = workers.Job(_start, (given._replace(enough=enough),), _screen, patience)
    found: dict[str, Screened] = {}
    try:
        for batch, results in workers.results(job, dealt, len(dealt), lambda: _import_analysis(enough)):
            if not isinstance(results, workers.Lost):  # whoever lints the other files screens them as well
                found.update(zip(batch, results, strict=False))
    except workers.NoProcess:
        pass
    return found


def _is_imported() -> bool:
    return "libcst" in sys.modules


def _import_analysis(done: mmap) -> None:
    """Import what linting needs, and tell the other processes that this is done."""
    import torchlint.analysis.dispatch
    import torchlint.analysis.module
    import torchlint.analysis.offers
    import torchlint.analysis.syntax.light.parse
    import torchlint.run.engine  # noqa: F401

    done[0] = 1


def _dealt(todo: list[Work], parts: int) -> list[list[str]]:
    """The paths of the smaller files in as many parts of about the same size."""
    chosen: list[str] = []
    size = 0
    for path, data in sorted(todo, key=lambda work: (len(work[1]), work[0])):
        size += _SMALL_FILE + len(data)
        if size > _AHEAD_BYTES * parts:
            break
        chosen.append(path)
    return [chosen[i::parts] for i in range(min(parts, len(chosen)))]


def _batches(orders: list[_Order], jobs: int) -> Iterator[list[_Order]]:
    """Largest files first, small ones together."""
    batch: list[_Order] = []
    size, left = 0, sum(order.size for order in orders)
    for order in sorted(orders, key=lambda order: (-order.size, order.path)):
        batch.append(order)
        size += order.size
        if size > min(_BATCH_BYTES, left // (_PARTS * jobs)):
            yield batch
            left -= size
            batch, size = [], 0
    if batch:
        yield batch


def _in_processes(
    todo: list[Work], known: Mapping[str, Screened], given: _Given, jobs: int
) -> Iterator[tuple[Work, Analysis]]:
    from torchlint.run import workers

    what, project, left = given.what, given.project, dict(todo)
    orders = [_order(work, given, known) for work in todo]
    passed = given if given.contents is not None else given._replace(what=what._replace(rules=()))  # they find them
    job = workers.Job(_start, (passed,), _work, limits.patience(what.scopes.time_limit()))
    try:
        for batch, results in workers.results(job, _batches(orders, jobs), jobs):
            answers: Iterable[Analysis | None] = (
                [_given_up(order.path, results, what) for order in batch]
                if isinstance(results, workers.Lost)
                else results
            )
            for order, found in zip(batch, answers, strict=True):
                data = left.pop(order.path)
                yield (order.path, data), found or what.analyse(data, order.path, project)
    except workers.NoProcess:
        for path, data in left.items():
            yield (path, data), what.analyse(data, path, project)


def _given_up(path: str, why: Lost, what: Plan) -> Analysis:
    """The result for a file on which two processes were lost."""
    from torchlint.run import workers
    from torchlint.run.engine import Analysis, unfinished

    if why is workers.Lost.STUCK:
        config = what.scope(path).config
        return unfinished(path, limits.out_of_time(config.time_limit), config, {})
    reason = "the process that linted this file died twice; exclude the file, or give it more memory"
    return Analysis(FileResult(path, (), (Problem(path, f"{SYNTAX_ERROR} internal-error: {reason}"),)), {})
