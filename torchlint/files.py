"""Files replaced as a whole: whoever reads them sees the old or the new content. Standard library only."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


class NotWritten(Exception):
    """Why a file was left as it was, and what to do."""


def replace(file: Path, data: bytes) -> None:
    """Write a file of torchlint's own. Raises ``OSError``."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def rewrite(file: Path, old: bytes, new: bytes, root: Path) -> None:
    """Replace the content of somebody's source file, keeping its mode and, where possible, its owner.

    Raises :class:`NotWritten` where the file does not hold ``old`` any more, may not be written, or is a link
    to a file outside of ``root``.
    """
    target = Path(os.path.realpath(file))
    if file.is_symlink() and not target.is_relative_to(os.path.realpath(root)):
        raise NotWritten("is a link to a file outside of the project; fix that file itself")
    try:
        _rewrite(target, old, new)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NotWritten(f"cannot be written: {reason}; nothing was changed") from None


def _rewrite(target: Path, old: bytes, new: bytes) -> None:
    before = target.stat()
    if not before.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise NotWritten("is read-only; make it writable to have it fixed")
    _check_unchanged(target, old)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.", suffix=".torchlint")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(new)
            stream.flush()
            os.fsync(stream.fileno())
        _like(Path(name), before)
        _check_unchanged(target, old)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _check_unchanged(target: Path, old: bytes) -> None:
    if target.read_bytes() != old:
        raise NotWritten("was changed by somebody else meanwhile, and was left alone; run torchlint again")


def _like(file: Path, before: os.stat_result) -> None:
    """Give a new file the owner, as far as that is allowed, and the mode of the old one."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(file, before.st_uid, before.st_gid)
    file.chmod(stat.S_IMODE(before.st_mode))


def _sync(folder: Path) -> None:
    """Have the new name on the disk as well, on systems where a folder can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
