"""Rows of repositories in folders. Nothing in them is executed, and Git is not called."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from torchlint.base.inputs import read
from torchlint.base.paths import relative_to
from torchlint.config.config import Config
from torchlint.config.configurations import Configurations
from torchlint.run.discovery import discover
from torchlint.scan.problems import reason
from torchlint.scan.rows import Reader, Row, most
from torchlint.scan.store import Store


def rows_of_folder(store: Store, name: str, reader: Reader) -> Iterator[Row]:
    """The Python files of a repository in a folder. Raises ``OSError``."""
    root = store.path(name)
    repo = name or posixpath.basename(root)
    found = _on_disk(root, reader) if store.local else _remote(store.below(name) if name else store, reader)
    empty = True
    for number, (path, content, size) in enumerate(found):
        empty = False
        if isinstance(content, OSError):
            yield reader.row(repo, path, b"", name, number)._replace(status="failed", reason=reason(content))
        else:
            yield reader.row(repo, path, content, name, number, size)
    if empty:
        yield reader.empty(repo, name)


def _on_disk(root: str, reader: Reader) -> Iterator[tuple[str, bytes | OSError, int]]:
    """The files that a plain run finds there, which heeds ``.gitignore``; no configuration in the folder is read."""
    files, problems, _ = discover.files([root], Configurations(root, only=Config(root=root)), root)
    start = len(root.rstrip("/")) + 1
    for file in files:
        path = file[start:] if file.startswith(f"{root}/") else relative_to(root, file)
        if not reader.wants(path):
            continue
        try:
            content = read(file, most(path))
        except OSError as error:
            yield path, error, 0
            continue
        yield path, content, len(content)
    for problem in problems:
        yield relative_to(root, problem.path), OSError(0, problem.message), 0


def _remote(store: Store, reader: Reader) -> Iterator[tuple[str, bytes, int]]:
    for one in store.entries(deep=True):
        if one.folder or not reader.wants(one.path):
            continue
        with store.open(one.path) as file:
            yield one.path, file.read(most(one.path) + 1), one.size
