"""Checkouts of public repositories at given commits."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

_HOST = "https://github.com"


class Repository(NamedTuple):
    """A repository, as ``owner/name``, and a commit."""

    repository: str
    commit: str


def checkout(repository: Repository, folder: Path, host: str = _HOST) -> Path:
    """The checkout of a repository in ``folder``, fetched if it is not there. Exits if it cannot be fetched."""
    path = folder / repository.repository.replace("/", "+")
    if path.is_dir():
        return path
    partial = path.with_name(f"{path.name}.partial")
    _git("init", "--quiet", str(partial))
    at = ("-C", str(partial))
    url = f"{host}/{repository.repository}"
    _git(*at, "fetch", "--quiet", "--depth=1", url, repository.commit)
    # No filters, hooks or submodules of the repository run; long paths and links stay what they are.
    _git(*at, "-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--detach", "FETCH_HEAD")
    partial.rename(path)
    return path


def _git(*arguments: str) -> None:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
