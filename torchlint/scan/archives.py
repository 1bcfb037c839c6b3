"""The files in an archive, as far as its limits permit: a small archive can unpack to any size."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from torchlint.base.limits import Budget, Exhausted
from torchlint.scan.problems import Unreadable, reason
from torchlint.scan.rows import FAILED, Reader, Row, most
from torchlint.scan.store import Store


class Limits(NamedTuple):
    """How much of one archive is unpacked: bytes, members and processor time in seconds."""

    bytes: int
    members: int
    seconds: float


LIMITS = Limits(4_000_000_000, 100_000, 300)
_ZIP = (".zip", ".whl")
_ERRORS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError)
_AT_ONCE = 16_000_000  # bytes of a header, or of the list of members, that are read at once
_CHUNK = 65_536
_ZIP_CHUNK = 4096  # zipfile unpacks all of so many compressed bytes at once
_OPENERS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))

_Member = tuple[str, bytes | None, int]


class _TooMuch(Exception):
    """The archive exceeds a limit; what it does, such as "unpacks to more than 4 GB"."""


def rows_of_archive(store: Store, name: str, reader: Reader, limits: Limits = LIMITS) -> Iterator[Row]:
    """The files of an archive, whose name is that of the repository. Raises ``Unreadable`` and ``OSError``.

    If a limit is exceeded, the last row says so, and stands for all that follows.
    """
    number = 0
    unpacking = _Unpacking(limits)
    try:
        with store.open(name) as file:
            members = (_in_zip if name.lower().endswith(_ZIP) else _in_tar)(file, reader, unpacking)
            for path, content, size in unpacking.timed(members):
                yield reader.row(name, path, content, name, number, size)
                number += 1
    except _TooMuch as error:
        why = f"the archive {error}; the files after the first {number:,} were left out"
        yield Row(name, name, None, 0, FAILED, why, name, number)
        return
    except _ERRORS as error:
        raise Unreadable(f"is not a readable archive: {reason(error)}") from None
    if not number:
        yield reader.empty(name, name)


class _Unpacking:
    """What one archive has used of its limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bytes = self._members = 0
        self._budget = Budget(limits.seconds)

    def timed(self, members: Iterator[_Member]) -> Iterator[_Member]:
        """The members, each of which is charged with the time that it takes to unpack."""
        while True:
            with self._budget.running():
                member = next(members, None)
            if member is None:
                return
            yield member

    def member(self) -> None:
        """Note a member of any kind."""
        self._members += 1
        if self._members > self._limits.members:
            raise _TooMuch(f"has more than {self._limits.members:,} members")
        self._check_time()

    def unpacked(self, data: bytes) -> bytes:
        """Note what a decompressor returned."""
        self._bytes += len(data)
        if self._bytes > self._limits.bytes:
            raise _TooMuch(f"unpacks to more than {self._limits.bytes / 1e9:g} GB")
        self._check_time()
        return data

    def _check_time(self) -> None:
        try:
            self._budget.left()
        except Exhausted:
            raise _TooMuch(f"takes more than {self._limits.seconds:g} s to unpack") from None


class _Bounded:
    """A file that ``tarfile`` and ``zipfile`` read: forward in chunks that are noted, and never much at once."""

    def __init__(self, file: IO[bytes], unpacking: _Unpacking | None = None) -> None:
        self._file, self._unpacking = file, unpacking

    def read(self, size: int = -1) -> bytes:
        """Read as :class:`io.RawIOBase`; a header that claims to be huge is refused."""
        data = self._file.read(min(size, _AT_ONCE + 1) if size >= 0 else _AT_ONCE + 1)
        if len(data) > _AT_ONCE:
            raise _TooMuch(f"has a header or a list of members of more than {_AT_ONCE // 1_000_000} MB")
        return data if self._unpacking is None else self._unpacking.unpacked(data)

    def tell(self) -> int:
        """The position, after unpacking."""
        return self._file.tell()

    def seek(self, position: int, whence: int = 0) -> int:
        """Go to a position; in compressed data this means to read up to there."""
        if self._unpacking is None:
            return self._file.seek(position, whence)
        while (left := position - self._file.tell()) > 0 and self.read(min(left, _CHUNK)):
            pass
        return self._file.tell()

    def seekable(self) -> bool:
        """Whether ``seek`` works."""
        return True


def _in_zip(file: Any, reader: Reader, unpacking: _Unpacking) -> Iterator[_Member]:
    with zipfile.ZipFile(_Bounded(file)) as archive:
        for member in archive.infolist():
            unpacking.member()
            if member.is_dir():
                continue
            content = None
            if reader.wants(member.filename):
                with archive.open(member) as opened:
                    content = _content(_Bounded(opened, unpacking), member.filename, _ZIP_CHUNK)
            yield member.filename, content, member.file_size


def _content(opened: Any, path: str, chunk: int) -> bytes:
    """The content of a member, up to a size that shows that it is too large."""
    content = bytearray()
    while (left := most(path) + 1 - len(content)) > 0 and (data := opened.read(min(left, chunk))):
        content += data
    return bytes(content)


def _in_tar(file: Any, reader: Reader, unpacking: _Unpacking) -> Iterator[_Member]:
    first = file.read(6)
    file.seek(0)
    opener = next((opener for mark, opener in _OPENERS if first.startswith(mark)), None)
    plain: Any = opener(file) if opener is not None else file
    with tarfile.open(fileobj=_Bounded(plain, unpacking), mode="r:") as archive:  # type: ignore[call-overload]
        while (member := archive.next()) is not None:
            archive.members = []  # which would be kept for access by name
            unpacking.member()
            if not member.isfile():
                continue
            opened = archive.extractfile(member) if reader.wants(member.name) else None
            content = _content(opened, member.name, _CHUNK) if opened is not None else None
            yield member.name.removeprefix("./"), content, member.size
