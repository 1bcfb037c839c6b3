"""Reads input files without blocking. Standard library only.

A repository can contain a link to anything: a terminal, standard input, an endless device. So every file that torchlint
did not write itself is read here: only regular files, and no more of them than the reader can use.
"""

from __future__ import annotations

import errno
import os
import stat

# The number of bytes read of a file, by kind of file.
CONFIGURATION = 1_000_000
REPORT = 256_000_000
# What a shell passes for `<(command)`, and a pipe: only the user who types the command can name these.
_HANDED_OVER = ("/dev/fd/", "/dev/stdin")
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read(path: str | os.PathLike[str], most: int) -> bytes:
    """The first bytes of a regular file, one more than ``most`` if it is larger. Follows links. Raises ``OSError``."""
    if os.fspath(path).startswith(_HANDED_OVER):
        with open(path, "rb") as pipe:  # noqa: PTH123 - pathlib costs start-up
            return pipe.read(most + 1)
    return _content(path, most, _AT_ONCE, mine=False)


def read_own(path: str | os.PathLike[str], most: int, *, secret: bool = False) -> bytes:
    """Like :func:`read`, for a file that only this user or the administrator can have written.

    A ``secret`` must also be unreadable for others. Links are not followed.
    """
    return _content(path, most, _AT_ONCE | getattr(os, "O_NOFOLLOW", 0), mine=True, secret=secret)


def _content(path: str | os.PathLike[str], most: int, flags: int, *, mine: bool, secret: bool = False) -> bytes:
    with open(path, "rb", buffering=0, opener=lambda name, given: os.open(name, given | flags)) as stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if mine:
            _check_owner(found, secret=secret)
        data = stream.read(min(found.st_size, most) + 1) or b""
        if len(data) == found.st_size:
            return data
        while len(data) <= most and (more := stream.read(most + 1 - len(data))):
            data += more
        return data


def _check_owner(found: os.stat_result, *, secret: bool) -> None:
    if os.name == "nt":
        return
    owners = (os.geteuid(),) if secret else (0, os.geteuid())
    others = 0o077 if secret else stat.S_IWGRP | stat.S_IWOTH
    if found.st_uid not in owners or found.st_mode & others:
        raise PermissionError(errno.EACCES, "open to other users")
