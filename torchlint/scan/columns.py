"""The columns of a data set that hold the repository, the path and the content of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchlint.scan.problems import Unreadable

# Names that data sets of source code use.
USUAL = {
    "repo": ("repo", "repo_name", "repository", "repository_name", "max_stars_repo_name", "project", "package"),
    "path": ("path", "file_path", "filepath", "max_stars_repo_path", "filename", "file_name", "file"),
    "content": ("content", "contents", "code", "text", "source", "source_code"),
}


class Columns(NamedTuple):
    """The names of the three columns; None for those that are to be found among the usual names."""

    repo: str | None = None
    path: str | None = None
    content: str | None = None

    def found(self, names: Iterable[str]) -> Columns:
        """The same with all names, for a data set with these columns. Raises ``Unreadable``."""
        there = list(names)
        return Columns(*(_found(role, getattr(self, role), there) for role in self._fields))


def _found(role: str, given: str | None, names: Sequence[str]) -> str:
    wanted = (given,) if given is not None else USUAL[role]
    for name in wanted:
        if name in names:
            return name
    has = ", ".join(sorted(names)[:20]) or "none"
    what = f"no column {given!r}" if given is not None else f"no column for the {_MEANT[role]}"
    raise Unreadable(f"{what}; its columns are {has}: name one with --{role}-column")


_MEANT = {"repo": "repository", "path": "path", "content": "content"}
