"""A run over many files: the cache, facts shared between files, and results in path order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from torchlint.base import limits
from torchlint.base.timings import phase
from torchlint.config.scopes import Scopes
from torchlint.model import SYNTAX_ERROR, FileResult, Problem, RuleInfo, RunResult
from torchlint.project.asked import unanswered
from torchlint.project.merged import Project
from torchlint.run import registry
from torchlint.run.builtin import BUILT_IN
from torchlint.run.plan import Plan

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations
    from torchlint.project.asked import Asked
    from torchlint.project.facts import FileFacts
    from torchlint.rule import Rule
    from torchlint.run.cache import Cache
    from torchlint.run.engine import Analysis
    from torchlint.run.parallel import Work

Progress = Callable[[int], None]
_ROUNDS = 12  # of facts that follow from facts of other files


def plan(config: Config) -> Plan:
    """A plan with one configuration for all files. Raises ``ConfigError`` and ``RegistryError``."""
    from torchlint.config.configurations import Configurations

    return plan_of(Configurations(".", only=config))


def plan_of(configurations: Configurations) -> Plan:
    """A plan with the configuration that applies to each file. Raises ``ConfigError`` and ``RegistryError``."""
    rules = registry.load()
    return Plan(rules, Scopes(configurations, rules))


def run(
    paths: Sequence[str],
    what: Plan,
    *,
    jobs: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Lint files; the result does not depend on ``jobs``, on the cache, or on the order of ``paths``."""
    tree = Tree(paths, what, jobs=jobs, cache=cache, progress=progress)
    return tree.result()


class Tree:
    """Files that are linted together, with their content on disk or with changes that are not written yet.

    Every file is first linted without facts of other files. Files whose queries have other results once all facts are
    known are linted again, and so on if that gives new facts. If fixes are to be applied, cached results with findings
    are not used.
    """

    def __init__(
        self,
        paths: Sequence[str],
        what: Plan,
        *,
        jobs: int | None = None,
        cache: Cache | None = None,
        progress: Progress | None = None,
        repaired: bool = False,
    ) -> None:
        self._what, self._jobs = what, jobs or usable_cpus()
        self._paths = len(paths)
        for path in paths:
            what.scope(path)  # report errors in configurations before doing anything else
        self.contents: dict[str, bytes] = {}
        self._unreadable: list[FileResult] = []
        for path in paths:
            with phase("read"):
                data = _read(path)
            if isinstance(data, FileResult):
                self._unreadable.append(data)
            else:
                self.contents[path] = data
        self._edited: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._alone: dict[str, Analysis] = {}
        self._later: dict[str, FileFacts] = {}
        self._cached: set[str] = set()
        if cache is not None:
            found = {p: known for p, data in self.contents.items() if (known := cache.get(p, data)) is not None}
            self._alone = {p: known for p, known in found.items() if not (repaired and known.result.findings)}
            self._cached = set(self._alone)
        _report(progress, len(self._unreadable) + len(self._alone))
        fresh = set(self.contents) - set(self._alone)
        again, followed = self._lint(fresh, progress)
        self._cached -= again
        if cache is not None:
            for path in fresh | again | followed:
                cache.put(self.contents[path], self.analyses[path])
            cache.save()

    def _lint(self, paths: set[str], progress: Progress | None) -> tuple[set[str], set[str]]:
        """Lint these files, then those whose queries have other results now, until all queries are answered.

        Returns the files that were linted again, and those about which others asked something.
        """
        with phase("files alone"):
            for (path, _), analysis in self._analyse(paths, None, progress):
                self._alone[path] = analysis
        self.analyses = dict(self._alone)
        self._later.clear()
        self.project = Project(self._facts(), self.contents)
        again, followed = set[str](), self._follow()
        for _ in range(_ROUNDS):
            stale = {path for path, analysis in self.analyses.items() if self._is_stale(analysis)}
            found = self._add_later(self.analyses.keys() - stale)
            if stale and not found:
                with phase("files again"):
                    for (path, _), analysis in self._analyse(stale, self.project, None):
                        self.analyses[path] = analysis._replace(facts=self._alone[path].facts)
                again |= stale
                found = self._add_later(stale)
            asked = self._follow() if stale or found else set()
            followed |= asked
            if not (found or asked):
                break
        return again, followed

    def _is_stale(self, analysis: Analysis) -> bool:
        return not (analysis.unfinished or analysis.is_valid_for(self.project))

    def _follow(self) -> set[str]:
        """Collect the facts that queries ask for, and merge all facts; returns the files that were asked about."""
        self.project = self.project.with_facts(self._facts())
        queries = {path: [query for query, _ in analysis.queries] for path, analysis in self.analyses.items()}
        found = unanswered(self.project, queries)
        asked = {p: found[name] for p, a in self._alone.items() if (name := _slashes(p)) in found and not a.unfinished}
        with phase("facts asked for"):
            what = self._what._replace(asked=asked)
            for (path, _), analysis in self._analyse(set(asked), None, None, what):
                for known in (self._alone, self.analyses):
                    known[path] = _with_answers(known[path], analysis, asked[path])
        self.project = self.project.with_facts(self._facts())
        return set(asked)

    def _facts(self) -> dict[str, FileFacts]:
        return {path: analysis.facts | self._later.get(path, {}) for path, analysis in self._alone.items()}

    def _add_later(self, paths: Iterable[str]) -> bool:
        """Add the facts of these files that follow from those of others; whether there are new ones."""
        found = {
            path: later for path in paths if (later := self.analyses[path].later or {}) != self._later.get(path, {})
        }
        self._later.update(found)
        return bool(found)

    def _analyse(
        self, paths: set[str], project: Project | None, progress: Progress | None, what: Plan | None = None
    ) -> Iterator[tuple[Work, Analysis]]:
        what = what or self._what
        on_disk = [(path, data) for path, data in self.contents.items() if path in paths and path not in self._edited]
        edited = [(path, self.contents[path]) for path in self.contents if path in paths & self._edited]
        for found in chain(self._spread(on_disk, project, what), self._in_turn(edited, project, what)):
            yield found
            _report(progress, 1)

    def _spread(self, todo: list[Work], project: Project | None, what: Plan) -> Iterator[tuple[Work, Analysis]]:
        if self._jobs == 1 or not limits.is_much(data for _, data in todo):
            return self._in_turn(todo, project, what)
        from torchlint.run.parallel import analyse_all

        return analyse_all(todo, what, project, self._jobs)

    def _in_turn(self, todo: list[Work], project: Project | None, what: Plan) -> Iterator[tuple[Work, Analysis]]:
        for path, data in todo:
            budget = limits.Budget(0)
            with budget.running():
                found = what.analyse(data, path, project)
            self._seconds[path] = self._seconds.get(path, 0.0) + budget.spent
            yield (path, data), found

    def update(self, changed: Mapping[str, bytes]) -> dict[str, float]:
        """Replace the content of files, and lint what that affects; returns the processor time for each file."""
        self.contents.update(changed)
        self._edited |= set(changed)
        self._cached -= set(changed)
        self._seconds.clear()
        self._lint(set(changed), None)
        return dict(self._seconds)

    def lint(self, path: str, data: bytes, seconds: float) -> Analysis:
        """Lint one file with other content and this project, with this time limit."""
        return self._what.analyse(data, path, self.project, seconds=seconds)

    def result(self) -> RunResult:
        """The findings of all files."""
        results = [*self._unreadable, *(analysis.result for analysis in self.analyses.values())]
        run = collect(results, self._what, files=self._paths, from_cache=len(self._cached))
        return run._replace(without_device=tuple(p for p in sorted(self.analyses) if self.project.lacks_device(p)))


def collect(
    results: Iterable[FileResult],
    what: Plan,
    *,
    files: int,
    from_cache: int = 0,
    problems: Iterable[Problem] = (),
) -> RunResult:
    """Combine the results of files into the result of a run, in order."""
    listed = list(results)
    findings = sorted((f for r in listed for f in r.findings), key=lambda f: f.sort_key)
    every = [*problems, *(p for r in listed for p in r.problems)]
    unchecked = {p.path for p in every} | {f.path for f in findings if f.rule == SYNTAX_ERROR}
    return RunResult(
        findings=tuple(findings),
        problems=tuple(sorted(every, key=lambda p: p.sort_key)),
        files=files,
        from_cache=from_cache,
        suppressed=sum(r.suppressed for r in listed),
        rules=infos(what.rules),
        unchecked=len(unchecked),
    )


def infos(rules: Iterable[type[Rule]]) -> tuple[RuleInfo, ...]:
    """The facts about all rules, beginning with torchlint's built-in findings."""
    from torchlint.rule import info

    return (*BUILT_IN, *(info(rule) for rule in rules))


def usable_cpus() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _with_answers(known: Analysis, found: Analysis, asked: Asked) -> Analysis:
    """An analysis with the facts that were asked for, and what went wrong when they were collected."""
    facts: FileFacts = {**known.facts, **found.facts, "followed": asked.followed()}
    if found.unfinished:
        return found._replace(facts=facts)
    problems = (*known.result.problems, *found.result.problems)
    return known._replace(result=known.result._replace(problems=problems), facts=facts)


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _read(path: str) -> bytes | FileResult:
    try:
        return limits.content(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return FileResult(path, (), (Problem(path, f"cannot be read: {reason}; check the path and its permissions"),))


def _report(progress: Progress | None, count: int) -> None:
    if progress is not None and count:
        progress(count)
