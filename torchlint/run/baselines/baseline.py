"""Baselines: files with the findings that a project accepts for now.

A baseline names findings by what makes their fingerprints: rule, path, text of the line, and how many there are. It is
JSON with one entry a line, in order, so that merges conflict rarely and diffs can be read. Paths are relative to the
folder of the baseline.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from torchlint.base.files import NotWritten, replace, rewrite
from torchlint.base.inputs import REPORT, read
from torchlint.base.shape import fits
from torchlint.model import SYNTAX_ERROR, Accepted

VERSION = 1
KEY = "torchlint-baseline"
_MARKER = re.compile(rb"^(<{7} |={7}$|>{7} )", re.MULTILINE)


class BaselineProblem(Exception):
    """What is wrong with a baseline, and what to do, in one line."""


class _OptionalKeys(TypedDict, total=False):
    count: int


class _Entry(_OptionalKeys):
    path: str
    rule: str
    line: str


class Baseline:
    """The content of a baseline: how many findings of a rule are accepted in lines with a text, by path."""

    def __init__(self, file: str, entries: Iterable[Accepted] = (), data: bytes | None = None) -> None:
        self.file, self._data = file, data
        self.counts: dict[str, dict[tuple[str, str], int]] = {}
        for path, rule, line, count in entries:
            counts = self.counts.setdefault(path, {})
            counts[rule, line] = max(count, counts.get((rule, line), 0))  # both sides of a merge may have it

    @property
    def entries(self) -> list[Accepted]:
        """All entries, in order."""
        listed = ((path, *key, count) for path, counts in self.counts.items() for key, count in counts.items())
        return [Accepted(*each) for each in sorted(listed) if each[-1]]

    def renamed(self, names: Mapping[str, str]) -> Baseline:
        """The same baseline with other paths."""
        moved = (entry._replace(path=names.get(entry.path, entry.path)) for entry in self.entries)
        return Baseline(self.file, moved, self._data)

    def with_entries(self, entries: Iterable[Accepted]) -> Baseline:
        """A baseline for the same file with other entries."""
        return Baseline(self.file, entries, self._data)

    def write(self) -> bool:
        """Write the file, unless it has this content; whether it was written. Raises :class:`BaselineProblem`."""
        data = text(self.entries).encode()
        if data == self._data:
            return False
        target = Path(os.path.realpath(self.file))
        try:
            if self._data is None:
                replace(target, data, mode=0o666)
            else:
                rewrite(target, self._data, data, [str(target.parent)])
        except OSError as error:
            raise BaselineProblem(f"{self.file}: cannot be written: {error.strerror}") from None
        except NotWritten as reason:
            raise BaselineProblem(f"{self.file}: {reason}") from None
        return True


def text(entries: Iterable[Accepted]) -> str:
    """The text of a baseline with these entries."""
    lines = [_line(entry) for entry in entries]
    listed = "[\n    " + ",\n    ".join(lines) + "\n  ]" if lines else "[]"
    return f'{{\n  "{KEY}": {VERSION},\n  "findings": {listed}\n}}\n'


def load(file: str, *, create: bool = False) -> Baseline:
    """Read a baseline; with ``create``, one that does not exist is empty. Raises :class:`BaselineProblem`."""
    try:
        data = read(file, REPORT)
    except FileNotFoundError:
        if create:
            return Baseline(file)
        raise BaselineProblem(f"{file}: there is no such baseline; --write-baseline writes it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BaselineProblem(f"{file}: cannot be read: {reason}") from None
    return Baseline(file, _parsed(file, data), data)


def _line(entry: Accepted) -> str:
    """An entry as JSON, in ASCII only if a file name cannot be decoded."""
    record: dict[str, Any] = {"path": entry.path, "rule": entry.rule, "line": entry.line}
    if entry.times > 1:
        record["count"] = entry.times
    shown = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if re.search("[\ud800-\udfff]", shown) else shown


def _parsed(file: str, data: bytes) -> list[Accepted]:
    if (marker := _MARKER.search(data)) is not None:
        line = data.count(b"\n", 0, marker.start()) + 1
        advice = "remove the marks, keep the entries of both sides, and run --prune-baseline"
        raise BaselineProblem(f"{file}:{line}: has marks of a merge conflict; {advice}")
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise BaselineProblem(
            f"{file}:{error.lineno}: is not valid JSON: {error.msg}; correct it, or {_ANEW}"
        ) from None
    except (ValueError, RecursionError):
        raise BaselineProblem(f"{file}: is not valid JSON; {_ANEW}") from None
    version = document.get(KEY) if isinstance(document, dict) else None
    if type(version) is int and version > VERSION:
        raise BaselineProblem(f"{file}: was written by a newer torchlint (version {version}); upgrade torchlint")
    if version != VERSION or type(version) is not int or not isinstance(document.get("findings"), list):
        raise BaselineProblem(f"{file}: is not a baseline of torchlint; name another file, or {_ANEW}")
    return [_entry(file, number, each) for number, each in enumerate(document["findings"], 1)]


_ANEW = "delete it and write it again with --write-baseline"


def _entry(file: str, number: int, record: object) -> Accepted:
    if not fits(record, _Entry, more=True):
        advice = "it needs the texts path, rule and line, and may have a count"
        raise BaselineProblem(f"{file}: entry {number} of its findings is malformed: {advice}")
    assert isinstance(record, dict)
    path, rule, line, count = record["path"], record["rule"], record["line"], record.get("count", 1)
    if not path or "\0" in path or rule == SYNTAX_ERROR or not count:
        raise BaselineProblem(f"{file}: entry {number} of its findings cannot be in a baseline; remove it")
    return Accepted(path, rule, line, count)
