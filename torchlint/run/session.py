"""A run over many files: the cache, facts shared between files, and results in path order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from torchlint.base import limits
from torchlint.base.timings import phase
from torchlint.config.scopes import Scopes
from torchlint.model import FileResult, RunResult
from torchlint.project.merged import Project
from torchlint.project.outline import Outlines
from torchlint.project.view import query_digest
from torchlint.run.discovery import contents
from torchlint.run.discovery.sources import is_notebook
from torchlint.run.following import connected, follow_programs
from torchlint.run.plan import Plan
from torchlint.run.processes.processors import usable_cpus
from torchlint.run.results import collect
from torchlint.run.rules import registry
from torchlint.run.understood import understood
from torchlint.text.cells import Cells

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations
    from torchlint.model import Finding
    from torchlint.project.facts import FileFacts
    from torchlint.project.followed import FollowedFile
    from torchlint.run.cache import Cache
    from torchlint.run.linting.file import Analysis
    from torchlint.run.processes.parallel import Work

Progress = Callable[[int], None]
_REMEMBERED = 8  # results of each file, for different facts of others


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
    given: Mapping[str, bytes] | None = None,
) -> RunResult:
    """Lint files; the result does not depend on ``jobs``, on the cache, or on the order of ``paths``."""
    tree = Tree(paths, what, jobs=jobs, cache=cache, progress=progress, given=given)
    return tree.result()


def _go_on(path: str) -> None:
    """Lint the next file."""


class Tree:
    """Files that are linted together, with their content on disk or with changes that are not written yet.

    Every file is first linted without facts of other files. Files whose queries have other results once all facts are
    known are linted again. After a change the same is done from the beginning, so that the result does not depend on
    what was linted before; but a file is linted again only if its content or the results of its queries are new. If
    fixes are to be applied, cached results with findings are not used. ``given`` is linted instead of what is on disk.
    Files around those of the run that imports connect with them are part of the tree; the others are not, and only
    what is ``named`` is reported.

    ``before`` is called with the path of each file that is to be linted in this process, as all given ones are, also
    after changes. It may raise an exception to give up.
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
        given: Mapping[str, bytes] | None = None,
        before: Callable[[str], None] = _go_on,
    ) -> None:
        self._what, self._jobs, self._begin = what, jobs or usable_cpus(), before
        self._paths = len(paths)
        for path in paths:
            what.scope(path)  # report errors in configurations before doing anything else
        self.named = frozenset(paths)
        self.contents, self._books, self._unreadable = contents.read_all(what.with_context(paths), given or {})
        self._edited = set(given or ()) & set(self.contents)
        self._seconds: dict[str, float] = {}
        self._outlines = Outlines(self.contents)
        self._components = self._connected()
        self.contents = {path: self.contents[path] for component in self._components for path in component}
        self._followed = self._follow_programs(cache)
        self._alone: dict[str, Analysis] = {}
        self._before: dict[str, list[Analysis]] = {}  # of the present content, with facts of other files; latest last
        self._cached: set[str] = set()
        if cache is not None:
            found = {p: known for p, data in self.contents.items() if (known := self._stored(cache, p, data))}
            undone = self.named if repaired else frozenset()
            self._alone = {p: known for p, known in found.items() if not (p in undone and known.result.findings)}
            self._cached = set(self._alone)
        _report(progress, len(self._unreadable) + len(self._alone))
        states = _states(self._components, self.contents, what) if cache is not None else {}
        if cache is not None and all(p in self._alone and self._alone[p].state == states[p] for p in self.contents):
            self._take_final()
            return
        fresh = set(self.contents) - set(self._alone)
        again = self._lint(fresh, progress)
        self._cached -= again
        if cache is not None:
            for path, analysis in self.analyses.items():
                if path in fresh | again or analysis.state != states[path]:
                    cache.put(self.contents[path], analysis, states[path])
            cache.save()

    def _take_final(self) -> None:
        """Take over stored results, all of which were final with the files as they are."""
        self.analyses = dict(self._alone)
        self.project = Project(self._facts(), self._outlines, self._followed)

    def _connected(self) -> list[list[str]]:
        """The components that named files are in; the files are one if the configuration names the programs."""
        if self._what.world(self.contents).programs is not None:
            return [list(self.contents)]
        return connected(self.contents, self._outlines, self.named)

    def _follow_programs(self, cache: Cache | None = None) -> dict[str, FollowedFile]:
        parts = ({path: self.contents[path] for path in each} for each in self._components)
        followed = follow_programs(parts, self._what.world, cache)
        return self._what.with_shown(followed, self.contents)

    def _lint(self, paths: set[str], progress: Progress | None) -> set[str]:
        """Lint these files, then those whose queries have other results now; returns the latter."""
        self._lint_alone(paths, progress)
        return self._combine()

    def _lint_alone(self, paths: set[str], progress: Progress | None) -> None:
        with phase("files alone"):
            for (path, _), analysis in self._analyze(paths, Project(followed=self._followed), progress):
                self._alone[path] = analysis

    def _combine(self) -> set[str]:
        """Lint again, with the facts of all files, what these affect; see :meth:`_lint`."""
        self.analyses = dict(self._alone)
        self.project = Project(self._facts(), self._outlines, self._followed)
        stale = {path for path, analysis in self.analyses.items() if self._is_stale(analysis)}
        self._lint_again(stale)
        return stale

    def _lint_again(self, paths: set[str]) -> None:
        """Lint files with facts of others, unless the same queries have had the same results before."""
        known = {path: self._known(path) for path in paths}
        with phase("files again"):
            for (path, _), analysis in self._analyze({p for p in paths if known[p] is None}, self.project, None):
                known[path] = analysis
        for path, found in known.items():
            if found is not None:
                others = [each for each in self._before.get(path, ()) if each is not found]
                self._before[path] = [*others[1 - _REMEMBERED :], found]
                self.analyses[path] = found._replace(facts=self._alone[path].facts)

    def _known(self, path: str) -> Analysis | None:
        return next((each for each in self._before.get(path, ()) if each.is_valid_for(self.project)), None)

    def _is_stale(self, analysis: Analysis) -> bool:
        return not (analysis.unfinished or analysis.is_valid_for(self.project))

    def _facts(self) -> dict[str, FileFacts]:
        return {path: analysis.facts for path, analysis in self._alone.items()}

    def _analyze(self, paths: set[str], project: Project, progress: Progress | None) -> Iterator[tuple[Work, Analysis]]:
        on_disk = [(path, data) for path, data in self.contents.items() if path in paths and path not in self._edited]
        edited = [(path, self.contents[path]) for path in self.contents if path in paths & self._edited]
        for found in chain(self._spread(on_disk, project), self._in_turn(edited, project)):
            yield found
            _report(progress, 1)

    def _spread(self, todo: list[Work], project: Project) -> Iterator[tuple[Work, Analysis]]:
        if self._jobs == 1 or not limits.is_much(data for _, data in todo):
            return self._in_turn(todo, project)
        from torchlint.run.processes.parallel import analyze_all

        return analyze_all(todo, self._what, project, self._jobs)

    def _in_turn(self, todo: list[Work], project: Project) -> Iterator[tuple[Work, Analysis]]:
        for path, data in todo:
            self._begin(path)
            budget = limits.Budget(0)
            with budget.running():
                found = self._what.analyze(data, path, project)
            self._seconds[path] = self._seconds.get(path, 0.0) + budget.spent
            yield (path, data), found

    def update(self, changed: Mapping[str, bytes], removed: Collection[str] = ()) -> dict[str, float]:
        """Replace the content of files, add or remove some, and lint what that affects.

        Returns the processor time for each file.
        """
        for path in removed:
            for known in (self.contents, self._alone):
                known.pop(path, None)
        self.contents.update(changed)
        for path in (*changed, *removed):
            self._before.pop(path, None)
        self._edited |= set(changed)
        self.named |= set(changed)
        self._cached -= {*changed, *removed}
        self._seconds.clear()
        told, outlined = {path: self._told(path) for path in changed}, self._outlines
        self._outlines = outlined.updated(changed, removed)
        moved = self._follow_again() - changed.keys()
        self._lint_alone({*changed, *moved}, None)
        nothing_new = not (removed or moved) and all(
            self._told(path) == told[path] and self._outlines.of(path) == outlined.of(path) for path in changed
        )
        if nothing_new:
            self.analyses.update({path: self._alone[path] for path in changed})
            self._lint_again({path for path in changed if self._is_stale(self.analyses[path])})
        else:
            self._combine()
        return dict(self._seconds)

    def _follow_again(self) -> set[str]:
        """Follow the programs as they are now; returns the files of which something else is known."""
        self._components = self._connected()
        before, self._followed = self._followed, self._follow_programs()
        self.project = self.project.with_followed(self._followed)
        return {path for path in self.contents if before.get(_slashes(path)) != self._followed.get(_slashes(path))}

    def _stored(self, cache: Cache, path: str, data: bytes) -> Analysis | None:
        """The stored result for a file, if it was linted with what is followed now."""
        known, query = cache.get(path, data), ("followed",)
        before = dict(known.queries).get(query) if known is not None else None
        if before is None or before == query_digest(Project(followed=self._followed), path, query):
            return known
        return None

    def _told(self, path: str) -> FileFacts | None:
        """What a file tells the others."""
        return self._alone[path].facts if path in self._alone else None

    def lint(self, path: str, data: bytes, seconds: float) -> Analysis:
        """Lint one file with other content and this project, with this time limit."""
        return self._what.analyze(data, path, self.project_for(path, data), seconds=seconds)

    def project_for(self, path: str, data: bytes) -> Project:
        """The project for linting other content of a file."""
        before = self.contents.get(path)
        return self.project if before is None or before == data else self.project.for_edit(path, before, data)

    def reported(self) -> dict[str, Analysis]:
        """The results for the files of the run, without those around them."""
        return {path: analysis for path, analysis in self.analyses.items() if path in self.named}

    def result(self) -> RunResult:
        """The findings of all files."""
        named = self.reported()
        unreadable = [result for result in self._unreadable if result.path in self.named]
        results = [*unreadable, *(analysis.result for analysis in named.values())]
        if self._books:
            results = self._in_cells(results)
        run = collect(results, self._what, files=self._paths, from_cache=len(self._cached & self.named))
        return run._replace(
            without_device=tuple(p for p in sorted(named) if self.project.lacks_device(p)),
            understood=understood(named, self.project, self._in_cell),
            notes=self._what.around.notes,
        )

    def _in_cell(self, path: str, line: int) -> tuple[int | None, int]:
        """The cell and the line in it for a line of a module; without a cell for other files."""
        cells = Cells.of(self.contents[path].decode()) if path in self._books and path in self.contents else None
        return cells.place(line) if cells is not None else (None, line)

    def _in_cells(self, results: Sequence[FileResult]) -> list[FileResult]:
        """The same results with findings in cells of notebooks instead of findings in modules."""
        from torchlint.run import notebooks

        return notebooks.in_cells(results, self._books, self.contents, lambda path: self._what.scope(path).config)

    def placed(self, path: str, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Findings in the present content of a file; those in a notebook are findings in cells."""
        if path not in self._books:
            return findings
        from torchlint.run.notebooks import placed_findings

        return placed_findings(findings, self.contents[path])

    def is_notebook(self, path: str) -> bool:
        """Whether the content of a file is the module of a notebook."""
        return path in self._books


def _states(components: Iterable[list[str]], contents: Mapping[str, bytes], what: Plan) -> dict[str, str]:
    """For each file a digest of its component."""
    from torchlint.run.cache import state_of

    parts = ({path: contents[path] for path in each} for each in components)
    states = ((each, state_of(each, what.world(each))) for each in parts)
    return {path: state for each, state in states for path in each}


def lint_text(data: bytes, path: str, what: Plan) -> FileResult:
    """Lint the bytes of one file or notebook without facts of other files."""
    if not is_notebook(path, data):
        return what.lint(data, path)
    from torchlint.run import notebooks

    try:
        book = notebooks.Book.read(data)
    except notebooks.NotebookProblem as problem:
        return notebooks.problem_of(path, problem)
    return notebooks.placed(what.lint(book.module, path), book.module, book, what.scope(path).config)


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _report(progress: Progress | None, count: int) -> None:
    if progress is not None and count:
        progress(count)
