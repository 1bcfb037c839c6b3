"""A folder that is open in the editor: its configuration, and what is known of its files and of those around it."""

# os.path, as in torchlint.config.config.
# ruff: noqa: PTH110
from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Set

from torchlint.base import limits
from torchlint.model import FileResult, RunResult, Safety
from torchlint.project.merged import Project
from torchlint.run import session
from torchlint.run.discovery import discover, sources
from torchlint.run.discovery.context import around
from torchlint.run.fixing.fix import repair
from torchlint.run.recorded.observed import with_observed
from torchlint.server.evidence import EvidenceFiles
from torchlint.server.settings import Settings


class Folder:
    """The files below a folder: each linted alone, or all as one project once they have been scanned."""

    def __init__(self, root: str, settings: Settings, *, isolated: bool = False) -> None:
        """With ``isolated``, configuration files are not read. Raises ``ConfigError``."""
        self.root, self.settings = root, settings
        self.configurations = settings.configurations(root, isolated=isolated)
        self.evidence = EvidenceFiles(settings.evidence_paths(root))
        self.plan = session.plan_of(self.configurations)._replace(evidence=self.evidence.shown)
        self.tree: session.Tree | None = None
        self._project: Project | None = None  # the facts about all files, as far as they are known
        self._changing = False
        self._excluded: dict[str, bool] = {}
        self._unsaved: set[str] = set()  # files whose content in the tree is that of an open document
        self._around: Set[str] = set()  # files of the project that are not in the folder
        self._elsewhere: Set[str] = set()  # open files that are no part of the tree, such as those that git ignores

    def contains(self, path: str) -> bool:
        """Whether a file is below this folder."""
        return path.startswith(f"{self.root.rstrip('/')}/")

    def excludes(self, path: str) -> bool:
        """Whether the configuration excludes a file, and the settings do not include it nevertheless."""
        if path not in self._excluded:
            found = discover.is_excluded(path, self.configurations, self.root)
            self._excluded[path] = found and not self.settings.lint_excluded
        return self._excluded[path]

    # -- one file --------------------------------------------------------------------------------

    def lint(self, path: str, data: bytes) -> FileResult:
        """Lint this code of a file with what is known of the others. Raises ``ConfigError``."""
        return with_observed(self._linted(path, data), data, self.plan.evidence)

    def _linted(self, path: str, data: bytes) -> FileResult:
        tree = self.tree
        if tree is not None and not self._changing and tree.contents.get(path) == data:
            return tree.analyses[path].result
        known = self._project if tree is None or self._changing else tree.project_for(path, data)
        return self.plan.analyze(data, path, known).result

    def fixed(self, path: str, data: bytes) -> bytes:
        """The content after all safe fixes."""
        budget = limits.Budget(self.plan.scope(path).config.time_limit)
        with budget.running():
            return repair(data, self.lint(path, data), lambda new: self.lint(path, new), Safety.SAFE, budget).data

    # -- all files -------------------------------------------------------------------------------

    def files(self, pause: Callable[[], None] | None = None) -> list[str]:
        """The files of the folder that are linted; ``pause`` is called between folders, and may raise an exception."""
        found = discover.files([self.root], self.configurations, self.root, pause)
        return [path for path in found.files if path.endswith(sources.SEARCHED)]

    def scan(self, files: Collection[str], progress: Callable[[int], None], pause: Callable[[], None]) -> None:
        """Lint all files; ``pause`` is called before each, also later, and may raise an exception to give up."""
        from torchlint.run.cache import for_settings

        cache = for_settings(self.plan.rules, self.plan.scopes)
        what = self.plan._replace(around=around([self.root], self.configurations))
        tree = session.Tree(sorted(files), what, jobs=1, cache=cache, progress=progress, before=lambda _: pause())
        self._around = {path for path in tree.contents if not self.contains(path)}
        self.tree, self._project = tree, tree.project

    def result(self) -> RunResult | None:
        """The findings of all files, and what was recognized in them; None if they have not been scanned."""
        return self.tree.result() if self.tree is not None else None

    def follow(self, texts: Mapping[str, bytes], touched: Collection[str], *, search: bool) -> None:
        """Lint what has changed since the last time: texts of open documents, and files that were touched on disk.

        ``search`` means that files may have been created or deleted.
        """
        tree = self.tree
        if tree is None:
            return
        known = tree.contents.keys()
        new = texts.keys() - known - self._elsewhere
        listed = {*self.files(), *self._around} if search or new else set(known)
        unsaved = {path: data for path, data in texts.items() if path in listed or not os.path.exists(path)}
        self._elsewhere = texts.keys() - unsaved.keys()
        changed, removed = dict(unsaved), known - listed - unsaved.keys()
        for path in ((self._unsaved | set(touched)) & listed | (listed - known)) - unsaved.keys():
            try:
                changed[path] = sources.content(path)
            except OSError:
                removed |= {path} & known
        changed = {path: data for path, data in changed.items() if tree.contents.get(path) != data}
        if changed or removed:
            self._update(tree, changed, removed)
        self._unsaved = set(unsaved)

    def _update(self, tree: session.Tree, changed: Mapping[str, bytes], removed: Collection[str]) -> None:
        """Lint what is affected. Meanwhile single files are linted with what was known before."""
        self._changing = True
        try:
            tree.update(changed, removed)
        except BaseException:
            self.tree = None  # it was left in the middle of something
            raise
        finally:
            self._changing = False
        self._project = tree.project
