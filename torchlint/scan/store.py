"""Folders on any file system that Arrow opens, and files in them that are written as a whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import IO, Any, NamedTuple

from pyarrow import fs

from torchlint.scan.problems import ScanError, reason

_UNFINISHED = ".unfinished"


class Entry(NamedTuple):
    """A file or folder: its path below the searched folder, its size in bytes, and when it was changed."""

    path: str
    size: int
    changed: str
    folder: bool


class Store(NamedTuple):
    """A folder or a file on a file system."""

    system: Any
    root: str
    local: bool

    def below(self, name: str) -> Store:
        """A folder in this one."""
        return self._replace(root=self.path(name))

    def path(self, name: str) -> str:
        """The path of a file in this folder."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    def kind(self) -> str:
        """``file``, ``folder``, or an empty text if there is neither."""
        found = self.system.get_file_info(self.root).type
        return {fs.FileType.File: "file", fs.FileType.Directory: "folder"}.get(found, "")

    def entries(self, *, deep: bool = False) -> list[Entry]:
        """What is in this folder, in order."""
        found = self.system.get_file_info(fs.FileSelector(self.root, recursive=deep, allow_not_found=True))
        start = len(self.root.rstrip("/")) + 1
        return sorted(
            Entry(one.path[start:], max(one.size or 0, 0), str(one.mtime_ns), one.type == fs.FileType.Directory)
            for one in found
        )

    def file(self) -> Entry:
        """This file itself, under its name."""
        found = self.system.get_file_info(self.root)
        return Entry(found.base_name, max(found.size or 0, 0), str(found.mtime_ns), folder=False)

    def names(self) -> set[str]:
        """The names of the finished files in this folder."""
        return {one.path for one in self.entries() if not (one.folder or one.path.endswith(_UNFINISHED))}

    def open(self, name: str) -> Any:
        """A file for reading at any place."""
        return self.system.open_input_file(self.path(name))

    def stream(self, name: str) -> IO[bytes]:
        """A file for reading from its beginning, decompressed by its suffix."""
        found: IO[bytes] = self.system.open_input_stream(self.path(name), compression="detect", buffer_size=1 << 20)
        return found

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None if there is none."""
        try:
            with self.system.open_input_stream(self.path(name), compression=None) as stream:
                data: bytes = stream.read()
                return data
        except FileNotFoundError:
            return None

    def write(self, name: str, data: Any) -> None:
        """Write a file under another name and rename it, so that a file with this name is always whole."""
        target = self.path(name)
        beside = f"{target}.{uuid.uuid4().hex}{_UNFINISHED}"
        try:
            with self.system.open_output_stream(beside, compression=None) as stream:
                stream.write(data)
            self.system.move(beside, target)
        except OSError:
            if self.system.get_file_info(beside).type == fs.FileType.File:
                self.system.delete_file(beside)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        if self.system.get_file_info(self.path(name)).type == fs.FileType.File:
            self.system.delete_file(self.path(name))

    def create(self) -> None:
        """Create this folder."""
        self.system.create_dir(self.root, recursive=True)

    def delete(self) -> None:
        """Remove this folder with everything in it."""
        if self.kind():
            self.system.delete_dir(self.root)

    def sweep(self) -> None:
        """Remove what a process that was killed has left unfinished."""
        for one in self.entries():
            if one.path.endswith(_UNFINISHED):
                self.system.delete_file(self.path(one.path))


def opened(text: str) -> Store:
    """The file or folder at a path or a URI. Raises ``ScanError``."""
    if "://" not in text:
        return Store(fs.LocalFileSystem(), Path(os.path.abspath(text)).as_posix(), local=True)  # noqa: PTH100
    try:
        system, path = fs.FileSystem.from_uri(text)
    except (OSError, ValueError) as error:
        raise ScanError(f"{text}: cannot be opened: {reason(error)}") from None
    return Store(system, path, isinstance(system, fs.LocalFileSystem))
