"""The commit that is measured, and how many have followed since."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Iterable
from pathlib import Path

from timing.environments import ROOT
from timing.record import BenchmarkError

#: How many commits may follow one whose measurements the page shows.
MOST = 200
#: What a measurement depends on.
_MEASURED = ("torchlint", "pyproject.toml")


def measured(root: Path = ROOT) -> str:
    """The commit of the checkout. Raises :class:`BenchmarkError` if what is measured is not that commit."""
    commit = _git(root, "rev-parse", "--short=10", "HEAD")
    if commit is None:
        raise BenchmarkError("this is no git repository, so that no commit can be named")
    if changed := _git(root, "status", "--porcelain", "--", *_MEASURED):
        raise BenchmarkError(f"commit what is measured first:\n{changed}")
    return commit


def stamp(root: Path = ROOT) -> str:
    """A sentence with today's date and the commit of the checkout, as in :func:`measured`."""
    return f"{today()}, commit {measured(root)}."


def today() -> str:
    """The date of a measurement."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def ages(commits: Iterable[str], root: Path = ROOT) -> dict[str, int | None]:
    """How many commits have followed each; None for one that is not known here, as in a shallow clone."""
    return {commit: _followers(root, commit) for commit in sorted(set(commits))}


def problem(commits: Iterable[str], root: Path = ROOT) -> str:
    """Why the measurements of these commits are too old; empty if they are not, or if a shallow clone cannot tell."""
    shallow = _git(root, "rev-parse", "--is-shallow-repository")
    for commit, age in ages(commits, root).items():
        if age is None and shallow == "false":
            return f"the measured commit {commit or '(none)'} is not in the history"
        if age is not None and age > MOST:
            return f"{age} commits have followed {commit}, which was measured; the limit is {MOST}"
    return ""


def _followers(root: Path, commit: str) -> int | None:
    counted = _git(root, "rev-list", "--count", f"{commit}..HEAD") if commit else None
    return int(counted) if counted else None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
