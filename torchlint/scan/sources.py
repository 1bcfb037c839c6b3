"""Rows of repositories: folders, and archives of them. Nothing in them is executed, and Git is not called."""

from __future__ import annotations

import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from torchlint.base.inputs import read
from torchlint.base.paths import relative_to
from torchlint.config.config import Config
from torchlint.config.configurations import Configurations
from torchlint.run import discover
from torchlint.scan.problems import Unreadable, reason
from torchlint.scan.rows import Reader, Row, most
from torchlint.scan.store import Store

_ZIP = (".zip", ".whl")
_ERRORS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)


def rows_of_archive(store: Store, name: str, reader: Reader) -> Iterator[Row]:
    """The files of an archive, whose name is that of the repository. Raises ``Unreadable`` and ``OSError``."""
    empty = True
    try:
        with store.open(name) as file:
            members = (_in_zip if name.lower().endswith(_ZIP) else _in_tar)(file, reader)
            for number, (path, content, size) in enumerate(members):
                empty = False
                yield reader.row(name, path, content, name, number, size)
    except _ERRORS as error:
        raise Unreadable(f"is no archive that can be read: {reason(error)}") from None
    if empty:
        yield reader.empty(name, name)


def _in_zip(file: Any, reader: Reader) -> Iterator[tuple[str, bytes | None, int]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            content = None
            if reader.wants(member.filename):
                with archive.open(member) as opened:
                    content = opened.read(most(member.filename) + 1)
            yield member.filename, content, member.file_size


def _in_tar(file: IO[bytes], reader: Reader) -> Iterator[tuple[str, bytes | None, int]]:
    with tarfile.open(fileobj=file, mode="r|*") as archive:
        for member in archive:
            if not member.isfile():
                continue
            opened = archive.extractfile(member) if reader.wants(member.name) else None
            content = opened.read(most(member.name) + 1) if opened is not None else None
            yield member.name.removeprefix("./"), content, member.size


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
