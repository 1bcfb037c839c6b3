"""A run over many files: cache, processes, results in path order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint import registry
from torchlint.builtin import BUILT_IN
from torchlint.config import Config, check_rule_tables
from torchlint.model import SYNTAX_ERROR, FileResult, Problem, RuleInfo, RunResult
from torchlint.select import chosen

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from torchlint.cache import Cache
    from torchlint.rule import Rule

# Starting processes costs about as much as linting this many bytes.
_POOL_BYTES = 150_000
_BATCH_BYTES = 200_000
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Plan:
    """What to run: all rules there are, the ids that are on, and the configuration."""

    rules: tuple[type[Rule], ...]
    active: frozenset[str]
    config: Config

    def lint(self, data: bytes, path: str) -> FileResult:
        """Lint the bytes of one file."""
        from torchlint.engine import lint

        return lint(data, path, self.rules, self.active, self.config)


def plan(config: Config) -> Plan:
    """Check the configuration against the rules there are. Raises ``ConfigError`` and ``RegistryError``."""
    rules = registry.load()
    check_rule_tables(rules, config)
    return Plan(rules, chosen(rules, config), config)


def run(
    paths: Sequence[str],
    what: Plan,
    *,
    jobs: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Lint files; the result depends on neither ``jobs`` nor the cache nor the order of ``paths``."""
    results: list[FileResult] = []
    hits = 0
    todo: list[tuple[str, bytes]] = []
    for path in paths:
        data = _read(path)
        if isinstance(data, FileResult):
            results.append(data)
            continue
        known = cache.get(path, data) if cache else None
        if known is None:
            todo.append((path, data))
            continue
        hits += 1
        results.append(known)
    _report(progress, len(results))
    for (_, data), result in _lint_all(todo, what, jobs or usable_cpus(), progress):
        results.append(result)
        if cache:
            cache.put(data, result)
    if cache:
        cache.save()
    return collect(results, what, files=len(paths), from_cache=hits)


def collect(
    results: Iterable[FileResult],
    what: Plan,
    *,
    files: int,
    from_cache: int = 0,
    problems: Iterable[Problem] = (),
) -> RunResult:
    """The results of single files as the result of a run, everything in order."""
    listed = list(results)
    findings = sorted((f for r in listed for f in r.findings), key=lambda f: f.sort_key)
    every = [*problems, *(p for r in listed for p in r.problems)]
    return RunResult(
        findings=tuple(findings),
        problems=tuple(sorted(every, key=lambda p: p.sort_key)),
        files=files,
        from_cache=from_cache,
        suppressed=sum(r.suppressed for r in listed),
        rules=infos(what.rules),
    )


def infos(rules: Iterable[type[Rule]]) -> tuple[RuleInfo, ...]:
    """The facts of all rules, torchlint's own findings first."""
    from torchlint.rule import info

    return (*BUILT_IN, *(info(rule) for rule in rules))


def usable_cpus() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(path: str) -> bytes | FileResult:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - pathlib costs start-up
            return stream.read()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return FileResult(path, (), (Problem(path, f"cannot be read: {reason}; check the path and its rights"),))


def _report(progress: Progress | None, count: int) -> None:
    if progress is not None and count:
        progress(count)


Work = tuple[str, bytes]


def _lint_all(todo: list[Work], what: Plan, jobs: int, progress: Progress | None) -> Iterator[tuple[Work, FileResult]]:
    """Lint what the cache did not know; in other processes where that pays."""
    worth = len(todo) > 1 and sum(len(data) for _, data in todo) > _POOL_BYTES
    if jobs > 1 and worth:
        yield from _in_processes(todo, what, jobs, progress)
        return
    for work in todo:
        yield work, what.lint(work[1], work[0])
        _report(progress, 1)


# -- other processes -----------------------------------------------------------------------------

_plan: Plan | None = None


def _start(config: Config, active: frozenset[str]) -> None:
    """In a new process: know the plan, and leave Ctrl-C to the parent."""
    import signal

    global _plan  # noqa: PLW0603 - a worker process serves one plan
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _plan = Plan(registry.load(), active, config)


def _work(batch: list[str]) -> list[FileResult]:
    assert _plan is not None
    results = []
    for path in batch:
        data = _read(path)
        results.append(data if isinstance(data, FileResult) else _plan.lint(data, path))
    return results


def _batches(todo: list[Work]) -> Iterator[list[Work]]:
    """Largest files first, small ones together."""
    batch: list[Work] = []
    size = 0
    for work in sorted(todo, key=lambda w: (-len(w[1]), w[0])):
        batch.append(work)
        size += len(work[1])
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _in_processes(
    todo: list[Work], what: Plan, jobs: int, progress: Progress | None
) -> Iterator[tuple[Work, FileResult]]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    lost: list[Work] = []
    pool = ProcessPoolExecutor(jobs, initializer=_start, initargs=(what.config, what.active))
    try:
        futures = {pool.submit(_work, [path for path, _ in batch]): batch for batch in _batches(todo)}
        for future in as_completed(futures):
            batch = futures[future]
            try:
                results = future.result()
            except BrokenProcessPool:
                lost += batch
                continue
            yield from zip(batch, results, strict=True)
            _report(progress, len(batch))
        pool.shutdown()
    except BaseException:
        _kill(pool)
        raise
    for work in lost:
        yield work, _alone(work[0], what)
        _report(progress, 1)


def _kill(pool: ProcessPoolExecutor) -> None:
    """Stop at once: what is running is not waited for."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def _alone(path: str, what: Plan) -> FileResult:
    """Lint one file of a batch whose process died, in a process of its own, to learn which one it was."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(1, initializer=_start, initargs=(what.config, what.active)) as pool:
        future: Future[list[FileResult]] = pool.submit(_work, [path])
        try:
            return future.result()[0]
        except BrokenProcessPool:
            reason = "the process that linted this file died; exclude the file and report it"
            return FileResult(path, (), (Problem(path, f"{SYNTAX_ERROR} internal-error: {reason}"),))
