"""Which commits a working tree or an index is compared with."""

# os.path, as in torchlint.vcs.git.
# ruff: noqa: PTH118
from __future__ import annotations

import os
import re

from torchlint.base.inputs import CONFIGURATION, read
from torchlint.vcs.git import GitProblem, Repository

_COMMIT = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")


def merge_base(repository: Repository, revision: str) -> str:
    """The commit at which the current work left the history of a revision. Raises :class:`GitProblem`.

    While a merge is in progress, what it brings counts as part of the history.
    """
    commit = _commit(repository, revision)
    if head(repository) is None:
        raise GitProblem("there is no commit yet on this branch, so everything is new; use --staged, or leave this out")
    found = repository.line("merge-base", commit, "HEAD", *merged(repository))
    if found is None:
        deepen = "; fetch more history: git fetch --unshallow" if is_shallow(repository) else ""
        raise GitProblem(f"{revision!r} and HEAD have no common commit{deepen}")
    return found


def parents(repository: Repository) -> list[str]:
    """The parents of the commit that the index would become; an empty tree for the first commit."""
    tip = head(repository)
    if tip is None:
        return [os.fsdecode(repository.output("hash-object", "-t", "tree", "--stdin").strip())]
    return [tip, *merged(repository)]


def head(repository: Repository) -> str | None:
    """The commit that is checked out; None before the first one."""
    return repository.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")


def merged(repository: Repository) -> list[str]:
    """The commits that are being merged. The file may contain anything, such as options for the next command."""
    file = repository.line("rev-parse", "--git-path", "MERGE_HEAD")
    if file is None:
        return []
    try:
        words = read(os.path.join(repository.top, file), CONFIGURATION).split()
    except OSError:
        return []
    return [word.decode() for word in words if _COMMIT.fullmatch(word)]


def last_change(repository: Repository, name: str) -> str | None:
    """The last commit that changed a file; None if there is none."""
    return repository.line("rev-list", "-1", "HEAD", "--", name) or None


def is_shallow(repository: Repository) -> bool:
    """Whether older commits are missing."""
    return repository.line("rev-parse", "--is-shallow-repository") == "true"


def _commit(repository: Repository, revision: str) -> str:
    if not revision or revision.startswith("-") or "\0" in revision:
        raise GitProblem(f"{revision!r} is no revision; give a branch, a tag or a commit, such as main")
    found = repository.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found is not None:
        return found
    if ".." in revision:
        raise GitProblem(f"{revision!r} is not one revision; give the branch, tag or commit to compare with")
    if repository.line("rev-parse", "--verify", "--quiet", f"refs/remotes/origin/{revision}") is not None:
        raise GitProblem(f"{revision!r} is not known here; did you mean 'origin/{revision}'?")
    if is_shallow(repository):
        advice = "fetch it (git fetch --deepen=100, or git fetch --unshallow; fetch-depth: 0 in GitHub Actions)"
        raise GitProblem(f"{revision!r} is not known in this shallow clone; {advice}")
    raise GitProblem(f"{revision!r} is not known in this repository; check the name, or run git fetch")
