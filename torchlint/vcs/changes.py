"""Which lines of which files are new compared with a commit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from torchlint.vcs.git import Repository

Ranges = tuple[tuple[int, int], ...]  # of lines, in order, with the last one
EVERYTHING: Ranges = ((1, 2**31),)
_TOGETHER = 200  # files whose patches one command prints
_FLAGS = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--ignore-submodules=all",
    "--find-renames",
    "-l4000",
)
_PATCH = ("--patch", "--unified=0", "--inter-hunk-context=0", "--text", "--src-prefix=a/", "--dst-prefix=b/")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


class _Change(NamedTuple):
    """A changed file: the letter of its status, its blob and name before, and its name now."""

    status: str
    blob: str
    before: str
    name: str
    same_content: bool


class Compared(NamedTuple):
    """The new lines of files by name; and for edited files that are not compared by lines, the blob from before."""

    lines: dict[str, Ranges]
    blobs: dict[str, str]


def compare(
    repository: Repository, base: str, names: Iterable[str], by_lines: Callable[[str], bool], *, staged: bool = False
) -> Compared:
    """Compare these files in the working tree or the index with a commit; a file without new lines is missing.

    Renamed files are compared with what they were called before. Files that are new are new as a whole.
    """
    wanted = set(names)
    found: dict[str, Ranges] = {}
    blobs: dict[str, str] = {}
    edited = []
    for change in _changes(repository, base, staged=staged):
        if change.name not in wanted or change.status in "DU":
            continue
        if change.status in "AT":
            found[change.name] = EVERYTHING
        elif not change.same_content:
            if by_lines(change.name):
                edited.append(change)
            else:
                blobs[change.name] = change.blob
    for start in range(0, len(edited), _TOGETHER):
        some = edited[start : start + _TOGETHER]
        paths = sorted({path for change in some for path in (change.before, change.name)})
        where = ["--cached"] if staged else []
        text = repository.output("diff-index", *where, *_FLAGS, *_PATCH, base, "--", *paths)
        found.update((name, ranges) for name, ranges in _hunks(text) if name in wanted)
    return Compared(found, blobs)


def untracked(repository: Repository, names: Iterable[str]) -> set[str]:
    """Those of these files that git does not track."""
    listed = repository.output("ls-files", "-z", "--full-name")
    return set(names) - set(os.fsdecode(listed).split("\0"))


def not_checked_out(repository: Repository) -> set[str]:
    """The tracked files that a sparse checkout leaves out."""
    listed = os.fsdecode(repository.output("ls-files", "-z", "-t", "--full-name")).split("\0")
    return {record[2:] for record in listed if record.startswith("S ")}


def renames(repository: Repository, base: str) -> dict[str, str]:
    """The files that have another name in the working tree than in a commit: old names and new ones."""
    return {change.before: change.name for change in _changes(repository, base, staged=False) if change.status == "R"}


def in_all(every: list[dict[str, Ranges]]) -> dict[str, Ranges]:
    """The lines that are new compared with each of several commits."""
    first, *others = every
    for other in others:
        both = ((name, _common(ranges, other[name])) for name, ranges in first.items() if name in other)
        first = {name: ranges for name, ranges in both if ranges}
    return first


def _common(one: Ranges, other: Ranges) -> Ranges:
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple((first, last) for first, last in pairs if first <= last)


def _changes(repository: Repository, base: str, *, staged: bool) -> Iterator[_Change]:
    where = ["--cached"] if staged else []
    text = repository.output("diff-index", *where, *_FLAGS, "--raw", "-z", base, "--")
    fields = iter(os.fsdecode(text).split("\0"))
    for field in fields:
        if not field:
            return
        _, _, blob, _, status = field.split(" ")
        before = next(fields)
        moved = status[0] in "RC"
        yield _Change(status[0], blob, before, next(fields) if moved else before, status in ("R100", "C100"))


def _hunks(patch: bytes) -> Iterator[tuple[str, Ranges]]:
    """The files of a patch without context lines, with the ranges of new lines in each."""
    lines = iter(patch.split(b"\n"))
    name: str | None = None
    ranges: list[tuple[int, int]] = []
    for line in lines:
        if line.startswith(b"diff --git "):
            if name is not None and ranges:
                yield name, tuple(ranges)
            name, ranges = None, []
        elif line.startswith(b"+++ ") and name is None:
            name = _name(line[4:])
        elif (hunk := _HUNK.match(line)) is not None:
            removed, first, added = (int(number) if number is not None else 1 for number in hunk.groups())
            if added:
                ranges.append((first, first + added - 1))
            _skip(lines, removed + added)
    if name is not None and ranges:
        yield name, tuple(ranges)


def _skip(lines: Iterator[bytes], count: int) -> None:
    """Pass over these lines of the file, which may look like anything, and over remarks on missing newlines."""
    for line in lines:
        count -= not line.startswith(b"\\")
        if not count:
            return


def _name(shown: bytes) -> str | None:
    """The name in the header of a patch; None for no file."""
    shown = shown.removesuffix(b"\t")
    if shown.startswith(b'"'):
        shown = _ESCAPED.sub(_unescaped, shown[1:-1])
    return os.fsdecode(shown[2:]) if shown.startswith(b"b/") else None


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes((int(text, 8),)) if len(text) == 3 else _ESCAPES.get(text, text)
