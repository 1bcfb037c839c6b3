"""Which files have another name than when a baseline was written.

A baseline records no commit: two branches that write one would conflict in it, and the commit may be gone after a
rebase. The last commit that changed the file is found in the history; renames since then are those between that commit
and the working tree.
"""

# os.path, as in torchlint.vcs.git.
# ruff: noqa: PTH120
from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torchlint.vcs import changes, revisions
from torchlint.vcs.git import GitProblem, Repository


class Moves(NamedTuple):
    """New names by old ones, the files that are only left out of a sparse checkout, and what could not be found out."""

    names: Mapping[str, str] = {}
    absent: frozenset[str] = frozenset()
    unknown: str | None = None


def moves(file: str, missing: Sequence[str]) -> Moves:
    """What became of files, with paths relative to the folder of ``file``, that do not exist."""
    try:
        return _moves(file, missing)
    except GitProblem as problem:
        return Moves(unknown=str(problem))


def _moves(file: str, missing: Sequence[str]) -> Moves:
    real = os.path.realpath(file)
    repository = Repository(os.path.dirname(real))
    own = repository.name(real)
    if own is None:
        return Moves(unknown=f"{file} is not in a git repository")
    folder = posixpath.dirname(own) or "."
    named = {posixpath.normpath(posixpath.join(folder, path)): path for path in missing}
    left_out = changes.not_checked_out(repository)
    base = revisions.last_change(repository, own) or revisions.head(repository)
    renamed = changes.renames(repository, base) if base is not None else {}
    names = {
        path: posixpath.relpath(renamed[name], folder)
        for name, path in named.items()
        if name in renamed and name not in left_out
    }
    absent = frozenset(path for name, path in named.items() if name in left_out)
    unknown = None
    if set(missing) - names.keys() - absent and revisions.is_shallow(repository):
        unknown = "this is a shallow clone; fetch more history with git fetch --unshallow"
    return Moves(names, absent, unknown)
