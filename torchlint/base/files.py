"""Atomic replacement of files: readers see either the old or the new content. Standard library only.

New content is written to a temporary file next to the old one, which is then renamed. The temporary file always has the
same name and is locked while it is written, so a later run recognizes and removes the file of a run that was killed,
and two concurrent runs do not write to it at the same time.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO

from torchlint.base.interrupts import held

SUFFIX = ".torchlint"
_PATIENCE = 2.0  # seconds
_LONGEST = 200  # bytes in a file name; most systems allow 255
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotWritten(Exception):
    """Why a file was not written, and what to do about it."""


def replace(file: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file that belongs to torchlint, with this mode as far as the umask allows. Raises ``OSError``."""
    with _written_beside(file, data, mode) as beside:
        beside.replace(file)


def rewrite(file: Path, old: bytes, new: bytes, trees: Iterable[str]) -> None:
    """Replace the content of a user's source file, keeping its mode and, if possible, its owner.

    Raises :class:`NotWritten` if the file no longer contains ``old``, may not be written, or is not inside one of these
    folders once all links are resolved.
    """
    target = Path(os.path.realpath(file))
    if not any(target.is_relative_to(os.path.realpath(tree)) for tree in trees):
        raise NotWritten("is behind a link that leaves the project; fix that file itself")
    try:
        _rewrite_patiently(target, old, new)
    except BlockingIOError:
        raise NotWritten("is being fixed by another run, and was skipped; run torchlint again") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NotWritten(f"cannot be written: {reason}; nothing was changed") from None


def _rewrite_patiently(target: Path, old: bytes, new: bytes) -> None:
    """Retry if another run is writing the file: it will be done soon, and most likely writes the same content."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            _rewrite(target, old, new)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(_PATIENCE / 100)
        else:
            return


def _rewrite(target: Path, old: bytes, new: bytes) -> None:
    before = target.stat()
    if not before.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise NotWritten("is read-only; make it writable to have it fixed")
    if _has_all_of(target, old, new):
        return
    with _written_beside(target, new, 0o600, durable=True) as beside:
        _like(beside, before)
        if not _has_all_of(target, old, new):
            beside.replace(target)
    _sync(target.parent)


def _has_all_of(target: Path, old: bytes, new: bytes) -> bool:
    """Whether another run has already written the same content."""
    found = target.read_bytes()
    if found not in (old, new):
        raise NotWritten("was changed by another program in the meantime, and was left alone; run torchlint again")
    return found == new


@contextmanager
def _written_beside(file: Path, data: bytes, mode: int, *, durable: bool = False) -> Iterator[Path]:
    """A temporary file with this content, to be renamed; removed if it is not."""
    beside = _beside(file)
    with held(), _claimed(beside, mode) as stream:
        own = os.fstat(stream.fileno())
        try:
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
            if os.name == "nt":  # file systems on which an open file cannot be renamed
                stream.close()
            yield beside
        finally:
            if os.name == "nt":  # an open file cannot be removed there, either
                with suppress(OSError):
                    stream.close()
            if _is_called(own, beside):
                beside.unlink()


def _beside(file: Path) -> Path:
    name = os.fsencode(file.name)
    short = file.name if len(name) <= _LONGEST else blake2b(name, digest_size=16).hexdigest()
    return file.with_name(f".{short}{SUFFIX}")


def _claimed(path: Path, mode: int) -> IO[bytes]:
    """A new locked file. An unlocked file with this name was left by a run that was killed, and is removed."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINKS, mode)
        except FileExistsError:
            _remove_left_over(path)
            continue
        if _locked(handle, path):
            return os.fdopen(handle, "wb")
        os.close(handle)


def _remove_left_over(path: Path) -> None:
    with suppress(FileNotFoundError):
        if os.name == "nt":
            try:
                path.unlink()
            except PermissionError as error:  # another process is writing to it
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path)) from error
            return
        handle = os.open(path, os.O_RDONLY | _NO_LINKS)
        try:
            if _locked(handle, path):
                path.unlink()
        finally:
            os.close(handle)


def _locked(handle: int, path: Path) -> bool:
    """Lock an open file, if it still has this name. Raises ``BlockingIOError`` if another process has locked it."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (
        ImportError,
        OSError,
    ):  # Windows, file systems without locks: at worst, one of two runs fails
        pass
    return _is_called(os.fstat(handle), path)


def _is_called(file: os.stat_result, path: Path) -> bool:
    """Whether this path still refers to this open file."""
    try:
        return os.path.samestat(file, path.lstat())
    except FileNotFoundError:
        return False


def _like(file: Path, before: os.stat_result) -> None:
    """Give a new file the mode of the old one and, if allowed, its owner."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(file, before.st_uid, before.st_gid)
    file.chmod(stat.S_IMODE(before.st_mode))


def _sync(folder: Path) -> None:
    """Flush the directory entry to disk, on systems where a directory can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
