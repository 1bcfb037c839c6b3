"""The context of the paths that were given: the other files of the projects that they belong to."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH100, PTH109, PTH110, PTH112, PTH117, PTH118, PTH120, PTH202, PTH208
from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from torchlint.base.paths import relative_to
from torchlint.config.config import ConfigError
from torchlint.config.configurations import Configurations
from torchlint.run.discovery import discover, sources

_MOST_FOLDERS = 10_000
_MOST_BYTES = 64_000_000


class Context(NamedTuple):
    """Displayed paths of files, and sentences about given paths that have no context."""

    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


NONE = Context()


def around(paths: Sequence[str], configurations: Configurations) -> Context:
    """The files of the projects that these files and folders are part of.

    A project is what is below the folder of the nearest configuration, or else the repository. Nothing is said of files
    that are in none and have no other file beside them.
    """
    given = {os.path.realpath(path) for path in paths}
    roots: dict[str, str] = {}
    loose = []
    for path in paths:
        full = os.path.abspath(path)
        folder = full if os.path.isdir(full) else os.path.dirname(full)
        root = project_root(folder, configurations)
        if root is None:
            loose += [path] if full.endswith(sources.SEARCHED) and _has_others(folder, given) else []
        elif root != full and not full.startswith(os.path.join(root, "") + ".git"):
            roots.setdefault(root, root if os.path.isabs(path) else relative_to(os.getcwd(), root))
    found = [_files(shown, configurations) for shown in roots.values()]
    notes = [_in_no_project(loose)] if loose else []
    return Context(
        tuple(path for one in found for path in one.files), (*notes, *(note for one in found for note in one.notes))
    )


def project_root(folder: str, configurations: Configurations) -> str | None:
    """The root of the project that a folder is part of, which may be itself; None if there is none."""
    config = configurations.for_folder(folder)
    inside = os.path.join(folder, "")
    if config.source is not None and inside.startswith(os.path.join(config.root, "")):
        return config.root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _files(root: str, configurations: Configurations) -> Context:
    """The files of a project, if it is not too large to be linted together with each of its files."""
    try:
        found = discover.files([root], configurations, os.getcwd(), _up_to(_MOST_FOLDERS)).files
    except _TooMany:
        return Context(notes=(_too_large(root, f"more than {_MOST_FOLDERS:,} folders"),))
    except ConfigError as error:
        wrong = "; ".join(error.messages)
        return Context(notes=(f"Linted without the rest of the project, which has a wrong configuration: {wrong}.",))
    files = tuple(path for path in found if path.endswith(sources.SEARCHED))
    if sum(map(_size, files)) > _MOST_BYTES:
        return Context(notes=(_too_large(root, f"more than {_MOST_BYTES // 1_000_000} MB of code"),))
    return Context(files)


class _TooMany(Exception):
    """There are more folders than are searched."""


def _up_to(most: int) -> Callable[[], None]:
    count = 0

    def pause() -> None:
        nonlocal count
        count += 1
        if count > most:
            raise _TooMany

    return pause


def _has_others(folder: str, given: Collection[str]) -> bool:
    """Whether a folder has files that may be linted, and are not among the given ones."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    found = (os.path.join(folder, name) for name in names if name.endswith(sources.SEARCHED))
    return any(os.path.realpath(path) not in given for path in found)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _too_large(root: str, what: str) -> str:
    return f"Linted without the rest of the project: {root} has {what}."


def _in_no_project(paths: Sequence[str]) -> str:
    which = f"{paths[0]} and {len(paths) - 1} more are" if len(paths) > 1 else f"{paths[0]} is"
    reason = "in no repository, and below no configuration of torchlint"
    return f"Linted without the files around: {which} {reason}."
