"""What a run lints and reports that is narrowed to the lines changed since a commit, or to staged lines."""

# os.path, because real paths of many files are compared as strings.
# ruff: noqa: PTH100, PTH109, PTH112, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.model import Problem
from torchlint.run.discovery import discover, linted, sources
from torchlint.run.discovery.changed import ChangedLines, Ranges, new_in_notebook
from torchlint.run.discovery.sources import is_notebook
from torchlint.vcs import blobs, changes, index, revisions
from torchlint.vcs.git import GitProblem, Repository

if TYPE_CHECKING:
    from torchlint.config.configurations import Configurations

PARTLY_STAGED = "unstaged changes"
_NAMED = 3  # files that a note lists


class Since(NamedTuple):
    """The files to lint, their changed lines, and what is linted instead of the content on disk."""

    files: list[str]
    lines: ChangedLines
    contents: Mapping[str, bytes] = {}
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def since(revision: str, given: Sequence[str], files: Sequence[str]) -> Since:
    """The lines of the working tree that are new since the merge base with a revision. Raises ``GitProblem``."""
    repository = _repository(given)
    names = {path: repository.name(path) for path in files}
    own = {path: name for path, name in names.items() if name is not None}
    base = revisions.merge_base(repository, revision)
    new = _new_lines(repository, base, own, {}, staged=False)
    new |= dict.fromkeys(changes.untracked(repository, own.values()), changes.EVERYTHING)
    return Since(list(files), _lines(own, new, {}), notes=_outside(names))


def staged(given: Sequence[str], files: Sequence[str], configurations: Configurations) -> Since:
    """The content of the index, and its lines that are new. Raises ``GitProblem``.

    Files that git does not track are left out. During a merge, only lines count that are in none of its parents.
    """
    repository = _repository(given)
    content = index.index_of(repository)
    names = {path: repository.name(path) for path in files}
    names |= _only_in_index(repository, content, given, configurations)
    own = {path: name for path, name in names.items() if name is not None}
    kept = [path for path in sorted(names) if names[path] is None or names[path] in content.files]
    problems = [
        Problem(path, "has merge conflicts, so nothing of it is staged; resolve them and run git add")
        for path, name in sorted(own.items())
        if name in content.unmerged
    ]
    differ = {path: own[path] for path in kept if own.get(path) in content.edited | content.missing}
    contents = blobs.contents(repository, {path: content.files[name] for path, name in differ.items()}, linted.MOST)
    bases = revisions.parents(repository)
    new = changes.in_all([_new_lines(repository, base, own, contents, staged=True) for base in bases])
    return Since(kept, _lines(own, new, contents), contents, tuple(problems), _outside(names))


def _repository(given: Sequence[str]) -> Repository:
    """The repository of the first path. All paths must be in it."""
    first = os.path.abspath(given[0])
    folder = first if os.path.isdir(first) else os.path.dirname(first)
    repository = Repository(folder if os.path.isdir(folder) else ".")
    for path in given:
        if not repository.contains(path):
            advice = "run torchlint once for each repository"
            raise GitProblem(f"{path} is not in the repository {repository.top}; {advice}")
    return repository


def _only_in_index(
    repository: Repository, content: index.Index, given: Sequence[str], configurations: Configurations
) -> dict[str, str]:
    """The files in the given folders that are staged, and deleted from the working tree since."""
    trees = tuple(os.path.join(os.path.realpath(path), "") for path in given)
    found = {}
    for name in content.missing & content.files.keys():
        path = repository.path(name)
        full = os.path.join(repository.top, *name.split("/"))
        searched = name.endswith(sources.SEARCHED) and os.path.join(full, "").startswith(trees)
        if searched and not discover.is_excluded(full, configurations, os.getcwd()):
            found[path] = name
    return found


def _new_lines(
    repository: Repository, base: str, own: Mapping[str, str], contents: Mapping[str, bytes], *, staged: bool
) -> dict[str, Ranges]:
    """The new lines of files by name; those of a notebook in its module."""
    compared = changes.compare(repository, base, own.values(), lambda name: not is_notebook(name), staged=staged)
    new = dict(compared.lines)
    before = blobs.contents(repository, compared.blobs, linted.MOST)
    for path, name in own.items():
        if name in before:
            new[name] = new_in_notebook(before[name], linted.data(path, contents))
    return {name: ranges for name, ranges in new.items() if ranges}


def _lines(own: Mapping[str, str], new: Mapping[str, Ranges], contents: Mapping[str, bytes]) -> ChangedLines:
    return ChangedLines({path: new[name] for path, name in own.items() if name in new}, contents)


def _outside(names: Mapping[str, str | None]) -> tuple[str, ...]:
    """A note on files of submodules and of other repositories, which are not compared."""
    others = sorted(path for path, name in names.items() if name is None)
    if not others:
        return ()
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    belong = "belongs" if len(others) == 1 else "belong"
    listed = ", ".join(others[:_NAMED])
    return (f"{listed}{more} {belong} to another repository, so nothing is reported there; run torchlint in that one.",)
