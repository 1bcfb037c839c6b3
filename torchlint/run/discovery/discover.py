"""Discovery: from the paths that the user gave to the files to lint, in order and without duplicates.

Folders are searched for Python files and notebooks; excluded, ignored and already visited ones are skipped. A file that
is given explicitly is linted, or reported as a problem if it is not Python. The only files read here are
``.gitignore`` files, and what shows whether a given file is Python.
"""

# os.path, because pathlib takes several times as long for every entry.
# ruff: noqa: PTH100, PTH110, PTH113, PTH116, PTH118, PTH119, PTH120, PTH208
from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base.globs import GlobProblem, Patterns, path_matches
from torchlint.base.inputs import CONFIGURATION, read
from torchlint.base.paths import relative_to, slashes
from torchlint.config.config import ConfigError, source_of
from torchlint.model import Problem
from torchlint.run.discovery import sources

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations

# : Folders without code of the project. They are skipped only below a given path.
DEFAULT_EXCLUDES = frozenset(
    ".bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv "
    ".pytest_cache .pytype .ruff_cache .svn .tox .torchlint_cache .venv .vscode __pycache__ __pypackages__ "
    "_build buck-out build dist node_modules site-packages venv".split()
)


class _Ignores(NamedTuple):
    """One ``.gitignore``: its folder, with a final separator, and its patterns."""

    base: str
    patterns: Patterns

    def verdict(self, path: str) -> bool | None:
        return self.patterns.verdict(path[len(self.base) :].replace(os.sep, "/"))


class _Folder(NamedTuple):
    """A folder to search: its displayed path, its real path, and the excludes and ignores that apply."""

    shown: str
    path: str
    ignores: tuple[_Ignores, ...]

    def child(self, name: str) -> _Folder:
        shown = name if self.shown in ("", ".") else f"{self.shown.rstrip('/')}/{name}"
        return _Folder(shown, os.path.join(self.path, name), self.ignores)


class _Excludes(NamedTuple):
    """The excludes that apply in one folder: their source, and the folder relative to the root of their globs."""

    excludes: tuple[tuple[str, tuple[str, ...], str], ...]

    def cover(self, name: str) -> bool:
        seen = ((where, globs, name if base == "." else f"{base}/{name}") for where, globs, base in self.excludes)
        return any(_covers(*each) for each in seen)


class Found(NamedTuple):
    """The files to lint, with displayed paths; problems; and links that were not followed."""

    files: list[str]
    problems: list[Problem]
    unfollowed: list[str]


def files(
    paths: Sequence[str], configurations: Configurations, cwd: str, pause: Callable[[], None] | None = None
) -> Found:
    """Find the files for the given paths; ``pause`` is called in each folder. Raises ``ConfigError``."""
    search = _Search(configurations, cwd, pause)
    for path in paths:
        search.add(path)
    problems = sorted(search.problems, key=lambda problem: problem.sort_key)
    return Found(sorted(search.found.values()), problems, sorted(search.unfollowed))


def is_excluded(path: str, configurations: Configurations, cwd: str) -> bool:
    """Whether the globs of the configuration or the default excludes leave out a file. Raises ``ConfigError``."""
    return _Search(configurations, cwd).excludes(os.path.abspath(os.path.join(cwd, path)))


class _Search:
    """One search over all given paths; remembers which files and folders it has visited."""

    def __init__(self, configurations: Configurations, cwd: str, pause: Callable[[], None] | None = None) -> None:
        self._pause = pause
        self.found: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._configurations = configurations
        self._cwd = os.path.abspath(cwd)
        self._excludes_of: dict[str, _Excludes] = {}
        self._visited: set[tuple[int, int | str]] = set()
        self.unfollowed: list[str] = []
        self._trees: list[str] = []  # links out of these folders are not followed
        self._linked_folders: list[_Folder] = []
        self._linked_files: list[tuple[os.DirEntry[str], _Folder]] = []

    def add(self, path: str) -> None:
        """Add a file, search a folder, or report a problem with the path."""
        shown = _shown(path)
        full = os.path.abspath(os.path.join(self._cwd, path)) if path else path
        try:
            mode = os.stat(full).st_mode
        except (OSError, ValueError) as error:
            self._problem(shown, error)
            return
        if stat.S_ISDIR(mode):
            self._walk(_Folder(shown, full, ()))
        elif not stat.S_ISREG(mode):
            self._irregular(shown)
        elif not self._excluded_by_name(full):
            if (reason := self._not_python(full, shown)) is None:
                self._take(shown, full)
            else:
                self.problems.append(Problem(shown, reason))

    def _not_python(self, full: str, shown: str) -> str | None:
        """Why a file that is given explicitly is not linted."""
        if not sources.is_notebook(full):
            return sources.problem(full, shown)
        config = self._configurations.for_folder(os.path.dirname(full))
        if config.force_exclude:  # the caller names every file that has changed, whatever its language
            return None
        from torchlint.run import notebooks

        return notebooks.language_problem(full)

    def _walk(self, start: _Folder) -> None:
        ignores = self._ignores_above(start.path)
        # An ignored folder that is given explicitly is searched; what ignores it does not apply inside.
        if self._ignored(start.path, ignores, folder=True):
            ignores = ()
        config = self._configurations.for_folder(start.path)
        own = [os.path.join(self._cwd, config.top or config.root)] if config.source else []
        self._trees = [os.path.join(os.path.realpath(tree), "") for tree in (start.path, *own)]
        waiting = [_Folder(start.shown, start.path, ignores)]
        # Links are visited last, so that a file is reported under its own path if it is also reached directly.
        while waiting or self._linked_folders:
            folder = waiting.pop() if waiting else self._linked_folders.pop(0)
            waiting += self._visit(folder)
        while self._linked_files:
            self._take_entry(*self._linked_files.pop(0))

    def _visit(self, folder: _Folder) -> list[_Folder]:
        """Add the files of one folder and return its subfolders; links are postponed."""
        if self._pause is not None:
            self._pause()
        try:
            identity = _identity(folder.path)
            if identity in self._visited:
                return []
            self._visited.add(identity)
            with os.scandir(folder.path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self._problem(folder.shown, error)
            return []
        folder = self._with_own_ignores(folder, {entry.name for entry in entries})
        excludes = self._excludes(folder.path)
        children: list[_Folder] = []
        for entry in entries:
            child = folder.child(entry.name)
            if _is_folder(entry):
                if entry.name not in DEFAULT_EXCLUDES and not self._left_out(entry.name, child, excludes, folder=True):
                    self._put(child, children, linked=entry.is_symlink())
            elif entry.name.endswith(sources.SEARCHED) and not self._left_out(
                entry.name, child, excludes, folder=False
            ):
                if entry.is_symlink():
                    self._linked_files.append((entry, child))
                else:
                    self._take_entry(entry, child)
        return children

    def _put(self, child: _Folder, children: list[_Folder], *, linked: bool) -> None:
        """Queue a folder: at its turn, last if it is a link, or not at all if the link leads out of the tree."""
        if not linked:
            children.append(child)
        elif os.path.join(os.path.realpath(child.path), "").startswith(tuple(self._trees)):
            self._linked_folders.append(child)
        else:
            self.unfollowed.append(child.shown)

    def _take_entry(self, entry: os.DirEntry[str], child: _Folder) -> None:
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            # Editors create lock files with such names, which are dangling links.
            if not entry.name.startswith(".#"):
                self._problem(child.shown, error)
            return
        if stat.S_ISREG(mode):
            self._take(child.shown, child.path)
        else:
            self._irregular(child.shown)

    def _left_out(self, name: str, child: _Folder, excludes: _Excludes, *, folder: bool) -> bool:
        return excludes.cover(name) or self._ignored(child.path, child.ignores, folder=folder)

    def _take(self, shown: str, full: str) -> None:
        self.found.setdefault(os.path.realpath(full), shown)

    def _excluded_by_name(self, full: str) -> bool:
        """Whether ``force-exclude`` is set, and a file that is given explicitly is excluded."""
        return self._configurations.for_folder(os.path.dirname(full)).force_exclude and self.excludes(full)

    def excludes(self, full: str) -> bool:
        """Whether a configuration that applies to a file leaves it out."""
        folder, below = os.path.dirname(full), os.path.join(self._cwd, "")
        config: Config | None = self._configurations.for_folder(folder)
        path = full
        while config is not None:
            if not DEFAULT_EXCLUDES.isdisjoint(self._relative(folder, config.root).split("/")):
                return True
            if self._excludes(os.path.dirname(path)).cover(os.path.basename(path)):
                return True
            path = folder = config.root
            config = self._configurations.above(config) if path.startswith(below) else None
        return False

    def _excludes(self, folder: str) -> _Excludes:
        found = self._excludes_of.get(folder)
        if found is None:
            config = self._configurations.for_folder(folder)
            own = ((f"{source_of(each)}: exclude", each.exclude, each.root) for each in config.chain())
            every = (*own, ("--exclude", config.given.exclude, config.given.base))
            found = _Excludes(tuple((of, globs, self._relative(folder, base)) for of, globs, base in every if globs))
            self._excludes_of[folder] = found
        return found

    def _relative(self, full: str, base: str) -> str:
        return relative_to(os.path.join(self._cwd, base), full)

    def _ignores_above(self, path: str) -> tuple[_Ignores, ...]:
        """The ``.gitignore`` files from the root of the repository down to ``path``, outermost first."""
        above: list[str] = []
        for folder in _upwards(path):
            above.append(folder)
            if os.path.exists(os.path.join(folder, ".git")):
                break
        else:
            return ()
        # The folder's own one is read when it is visited.
        read = (self._read_ignores(folder) for folder in reversed(above[1:]))
        return tuple(ignores for ignores in read if ignores)

    def _with_own_ignores(self, folder: _Folder, names: set[str]) -> _Folder:
        outer = () if ".git" in names else folder.ignores
        own = self._read_ignores(folder.path) if ".gitignore" in names else None
        return _Folder(folder.shown, folder.path, (*outer, own) if own else outer)

    def _read_ignores(self, folder: str) -> _Ignores | None:
        path = os.path.join(folder, ".gitignore")
        if not os.path.isfile(path):
            return None
        try:
            text = read(path, CONFIGURATION).decode("utf-8-sig", "surrogateescape")
            return _Ignores(os.path.join(folder, ""), Patterns(text.splitlines()))
        except OSError as error:
            self._problem(relative_to(self._cwd, path), error)
        except GlobProblem as problem:
            self._unusable(path, problem)
        return None

    def _ignored(self, path: str, ignores: tuple[_Ignores, ...], *, folder: bool) -> bool:
        """Whether the innermost ``.gitignore`` that matches the path ignores it."""
        for each in reversed(ignores):
            try:
                verdict = each.verdict(path + os.sep if folder else path)
            except GlobProblem as problem:
                self._unusable(f"{each.base}.gitignore", problem)
                continue
            if verdict is not None:
                return verdict
        return False

    def _unusable(self, path: str, why: GlobProblem) -> None:
        """Report once what is wrong with a ``.gitignore``."""
        problem = Problem(relative_to(self._cwd, path), str(why))
        if problem not in self.problems:
            self.problems.append(problem)

    def _problem(self, shown: str, error: Exception) -> None:
        if isinstance(error, FileNotFoundError):
            reason = self._missing(shown)
        else:
            what = (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
            reason = f"cannot be read: {what}"
        self.problems.append(Problem(shown, reason))

    def _missing(self, shown: str) -> str:
        try:
            target = os.readlink(os.path.join(self._cwd, shown))  # noqa: PTH115 - pathlib costs start-up
        except (OSError, ValueError):  # not a link, or not a path
            return f"there is no such file or folder{self._nearby(shown)}"
        return f"is a link to {target!r}, which does not exist"

    def _nearby(self, shown: str) -> str:
        """Advice with the name beside a missing path that was probably meant."""
        from torchlint.config.values import nearest

        folder, name = os.path.split(shown)
        try:
            names = os.listdir(os.path.join(self._cwd, folder))
        except (OSError, ValueError):
            return ""
        meant = nearest(name, names)
        return f"; did you mean {slashes(os.path.join(folder, meant))!r}?" if meant else ""

    def _irregular(self, shown: str) -> None:
        advice = "not a regular file; to lint what a program writes, pipe it to `torchlint -`"
        self.problems.append(Problem(shown, f"cannot be read: {advice}"))


def _shown(path: str) -> str:
    shown = slashes(path)
    while shown.startswith("./") and shown != "./":
        shown = shown[2:].lstrip("/")
    return shown if shown or not path else "."


def _upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent


def _identity(folder: str) -> tuple[int, int | str]:
    """What is equal for all paths of one folder. Some network drives of Windows number no files."""
    status = os.stat(folder)
    return status.st_dev, status.st_ino or os.path.realpath(folder)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # for example, a link to itself
        return False


def _covers(where: str, globs: tuple[str, ...], path: str) -> bool:
    try:
        return path_matches(globs, path)
    except GlobProblem as problem:
        raise ConfigError(f"{where} {problem}") from None
