"""The cache: results of linting a file, by its content.

There is one JSON file for each combination of rules, configuration and versions, in a folder of the user. A repository
may contain such a file, so each is signed with a key that only this user has on this machine; without a valid signature
a file is not read, and malformed entries are ignored. Files are replaced atomically: of two concurrent runs, one may at
worst lose its new entries.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import stat
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.base import user_cache
from torchlint.base.files import replace
from torchlint.base.inputs import read_own
from torchlint.base.shape import fits
from torchlint.base.version import __version__
from torchlint.config.config import Given
from torchlint.model import Edit, Evidence, FileResult, Finding, Fix, Heat, Safety, Severity, Span
from torchlint.project.facts import FileFacts
from torchlint.project.followed import FollowedFile
from torchlint.run.linting.file import Analysis
from torchlint.run.packed_programs import PACKED, unpacked
from torchlint.run.rules import plugins

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.scopes import Scope, Scopes
    from torchlint.program.world import World
    from torchlint.rule import Rule

NAME = ".torchlint_cache"
_IGNORE = ".gitignore"
_FORMAT = 12
# The header of a file, followed by its signature; the rest is signed together with the name of the file.
_HEAD = b'{"format":%d,"signature":"' % _FORMAT
_SIGNATURE = 32  # bytes
_MOST = 256_000_000
_PROGRAMS = 4  # states of each component of which it is kept what following the programs told
# Only files with such names are ever deleted: caches, and temporary files that a killed run has left.
_OURS = re.compile(r"[0-9a-f]{32}\.json|\.[0-9a-f]{32}\.json\.torchlint")


def digest(*parts: bytes) -> str:
    """A hash of several byte strings that also depends on where they are split."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def for_settings(rules: Sequence[type[Rule]], scopes: Scopes, directory: str | None = None) -> Cache:
    """The cache for these rules and settings, in the project's folder unless another one is given."""
    sources = [f"{rule.__module__}.{rule.__qualname__}" for rule in rules]
    versions = [__version__, platform.python_version(), *_stamps(), *plugins.stamps()]
    name = digest(*map(_encoded, (*versions, *sources, _what_counts(scopes.first))))
    return Cache(folder(scopes, directory), name, own=not directory, counting=Counting(rules, scopes))


def folder(scopes: Scopes, directory: str | None = None) -> Path:
    """Where the cache is: in the project's folder unless another one is given."""
    return Path(directory) if directory else Path(scopes.first.config.root, NAME)


def clear(directory: Path, *, own: bool) -> int:
    """Delete the caches of all rules and settings, and an ``own`` folder if nothing else is in it.

    Returns the number of caches. Raises :class:`OSError` where one cannot be deleted.
    """
    if not directory.is_dir() or (own and directory.is_symlink()):
        return 0
    caches = [file for file in directory.iterdir() if _OURS.fullmatch(file.name)]
    for file in caches:
        file.unlink(missing_ok=True)
    if own and {file.name for file in directory.iterdir()} <= {_IGNORE}:
        (directory / _IGNORE).unlink(missing_ok=True)
        directory.rmdir()
    return len(caches)


class Counting:
    """The settings that apply to each file, as a part of the key of its entry."""

    def __init__(self, rules: Sequence[type[Rule]], scopes: Scopes) -> None:
        self._rules, self._scopes = rules, scopes
        self._known: dict[int, bytes] = {}

    def of(self, path: str) -> bytes:
        """The settings for a file, and the folder to which its path is relative."""
        scope = self._scopes.of(path, self._rules)
        found = self._known.get(id(scope))
        if found is None:
            found = self._known[id(scope)] = _encoded(f"{os.getcwd()}\0{_what_counts(scope)}")  # noqa: PTH109
        return found


def _what_counts(scope: Scope) -> str:
    return f"{sorted(scope.active)!r}{_relevant(scope.config)!r}"


def _relevant(config: Config) -> Config:
    """A configuration, and those that it extends, without what does not change the findings in a file."""
    given = Given(config.given.base, (), config.given.per_file_ignores) if config.given.per_file_ignores else Given()
    return config._replace(
        fail_on=None,
        exclude=(),
        source=None,
        force_exclude=False,
        budget={},
        time_limit=0.0,
        given=given,
        baseline=None,
        extended=_relevant(config.extended) if config.extended is not None else None,
    )


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _stamps() -> list[str]:
    """Changes whenever torchlint's code or its parser changes, also in a checkout."""
    from importlib.metadata import version

    root = Path(__file__).parent.parent
    stamps = [f"{file.relative_to(root)}:{file.stat().st_mtime_ns}" for file in sorted(root.rglob("*.py"))]
    return [version("libcst"), *stamps]


class Cache:
    """The results of one configuration, stored in ``directory``. Errors of the file system cost speed, never the run.

    Without a key to sign with, nothing is read or written. A directory that torchlint chose (``own``) must not be a
    link, and is made inaccessible for others; one that the user chose keeps its permissions.
    """

    def __init__(self, directory: Path, name: str, *, own: bool = False, counting: Counting | None = None) -> None:
        self._own, self._counting = own, counting
        self._file = directory / f"{name}.json"
        self._secret = user_cache.key()
        self._entries: dict[str, Any]
        self._programs: dict[str, Any]
        self._entries, self._programs = self._read()
        self._used: dict[str, Any] = {}
        self._used_programs: dict[str, Any] = {}
        self._changed = False

    def get(self, path: str, data: bytes) -> Analysis | None:
        """The stored result for these bytes at this path; whether it is still valid depends on the project."""
        key = self._key(path, data)
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:
            lines = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n") + 1
            analysis = _unpack_analysis(path, entry, lines)
        except (TypeError, ValueError):
            return None
        self._used[key] = entry
        return analysis

    def put(self, data: bytes, analysis: Analysis, state: str = "") -> None:
        """Store a result, which is final with this state of its component.

        Results with internal errors are not stored, so that the file is linted again.
        """
        result = analysis.result
        if not (result.problems or analysis.unfinished):
            key = self._key(result.path, data)
            self._used[key] = [analysis.facts, analysis.queries, state, *_pack(result)]
            self._changed = True

    def followed(self, contents: Mapping[str, bytes], world: World) -> dict[str, FollowedFile] | None:
        """What following the programs of these files, by path, told the last time in this world."""
        key = state_of(contents, world)
        entry = self._programs.get(key)
        if entry is None or not fits(entry, list[PACKED]):
            return None
        self._used_programs[key] = entry
        return {path: unpacked(packed) for path, *packed in entry}

    def put_followed(self, contents: Mapping[str, bytes], world: World, found: Mapping[str, FollowedFile]) -> None:
        """Store what following the programs of these files tells."""
        self._used_programs[state_of(contents, world)] = [[path, *known] for path, known in found.items()]
        self._changed = True

    def _key(self, path: str, data: bytes) -> str:
        counts = self._counting.of(path) if self._counting is not None else b""
        return digest(counts, _encoded(path), data)

    def save(self) -> None:
        """Write the entries that this run used; entries of other files are kept while there is room."""
        if not self._changed or self._secret is None:
            return
        entries = dict(self._used)
        for key, entry in self._entries.items():
            if len(entries) >= 4 * len(self._used) + 10_000:
                break
            entries.setdefault(key, entry)
        most = _PROGRAMS * (1 + len(self._used_programs))
        programs = dict([*{**self._used_programs, **self._programs}.items()][:most])
        with contextlib.suppress(OSError, ValueError, RecursionError):
            _prepare(self._file.parent, own=self._own)
            parts = [json.dumps(part, separators=(",", ":")).encode() for part in (entries, programs)]
            body = b'","entries":%s,"programs":%s}' % (parts[0], parts[1])
            replace(self._file, _HEAD + self._signature(body, self._secret) + body)

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The entries of files, and those of programs."""
        try:
            if self._secret is None or (self._own and self._file.parent.is_symlink()):
                return {}, {}
            data = read_own(self._file, _MOST)
            signature = data[len(_HEAD) : len(_HEAD) + 2 * _SIGNATURE]
            body = data[len(_HEAD) + 2 * _SIGNATURE :]
            if not data.startswith(_HEAD) or signature != self._signature(body, self._secret):
                return {}, {}
            document = json.loads(data)
            entries, programs = document["entries"], document.get("programs", {})
            whole = isinstance(entries, dict) and isinstance(programs, dict)
            return (entries, programs) if whole else ({}, {})
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}, {}

    def _signature(self, body: bytes, key: bytes) -> bytes:
        """A signature of this body and file name that only this user can create."""
        return blake2b(self._file.name.encode() + body, key=key, digest_size=_SIGNATURE).hexdigest().encode()


def state_of(contents: Mapping[str, bytes], world: World) -> str:
    """A digest of several files, and of the world in which their programs run."""
    told = _encoded(repr(tuple(world)))
    return digest(b"files", told, *(part for path in sorted(contents) for part in (_encoded(path), contents[path])))


def _prepare(directory: Path, *, own: bool) -> None:
    """Create the directory with a ``.gitignore``, and delete old files in it."""
    if own and directory.is_symlink():
        raise PermissionError
    made = not directory.exists()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if own and stat.S_IMODE(directory.stat().st_mode) & 0o077:
        directory.chmod(0o700)
    ignore = directory / _IGNORE
    if made or (own and not ignore.exists()):
        replace(ignore, b"*\n")
    ages = {}
    for file in directory.iterdir():
        if _OURS.fullmatch(file.name):
            with contextlib.suppress(OSError):
                ages[file] = file.stat().st_mtime
    for file in sorted(ages, key=ages.__getitem__)[:-8]:
        file.unlink(missing_ok=True)


def _pack(result: FileResult) -> list[Any]:
    return [result.suppressed, *(_pack_finding(finding) for finding in result.findings)]


def _pack_finding(f: Finding) -> list[Any]:
    fix = None
    if f.fix is not None:
        fix = [
            f.fix.title,
            f.fix.safety.value,
            f.fix.caveat,
            [[*_numbers(e.span), e.text] for e in f.fix.edits],
        ]
    evidence = [[e.line, e.column, e.text, e.context] for e in f.evidence]
    heat = f.heat.value if f.heat else None
    facts = [f.rule, f.name, f.topic, f.severity.value, f.message, heat, f.cell, f.fingerprint, f.cause]
    return [*facts, _numbers(f.span), evidence, f.statement, f.step, fix]


def _numbers(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


# An entry: facts, queries with digests of their results, the state of the component, the number of
# suppressed findings, and findings.
_PackedFinding = tuple[
    str,
    str,
    str,
    str,
    str,
    str | None,
    int | None,
    str,
    str,
    tuple[int, int, int, int],
    list[tuple[int, int, str, bool]],
    tuple[int, int] | None,
    tuple[str, int] | None,
]
_PackedFix = tuple[str, str, str | None, list[tuple[int, int, int, int, str]]]


def _unpack_analysis(path: str, entry: list[Any], lines: int) -> Analysis:
    facts, asked, state, *packed = entry
    if not (fits(facts, FileFacts) and fits(state, str) and fits(asked, list[tuple[tuple[str, ...], str]])):
        raise TypeError("no facts or questions")
    questions = tuple((tuple(question), found) for question, found in asked)
    return Analysis(_unpack(path, packed, lines), facts, questions, state=state)


def _unpack(path: str, entry: list[Any], lines: int) -> FileResult:
    suppressed, *findings = entry
    if not fits(suppressed, int):
        raise TypeError("no count of suppressions")
    return FileResult(path, tuple(_unpack_finding(path, packed, lines) for packed in findings), (), suppressed)


def _unpack_finding(path: str, packed: list[Any], lines: int) -> Finding:
    *facts, fix = packed
    if not fits(facts, _PackedFinding):
        raise TypeError("no finding")
    rule, name, topic, severity, message, heat, cell, fingerprint, cause, span, evidence, statement, step = facts
    return Finding(
        rule=rule,
        name=name,
        topic=topic,
        severity=Severity(severity),
        path=path,
        span=Span(*span),
        message=message,
        heat=Heat(heat) if heat is not None else None,
        evidence=tuple(Evidence(line, column, text, context=context) for line, column, text, context in evidence),
        fix=_unpack_fix(fix, lines) if fix is not None else None,
        cell=cell,
        fingerprint=fingerprint,
        statement=(statement[0], statement[1]) if statement is not None else None,
        cause=cause,
        step=(step[0], step[1]) if step is not None else None,
    )


def _unpack_fix(packed: list[Any], lines: int) -> Fix:
    if not fits(packed, _PackedFix):
        raise TypeError("no fix")
    title, safety, caveat, edits = packed
    if any(not 1 <= line <= lines for edit in edits for line in (edit[0], edit[2])):
        raise ValueError("an edit of a line that the file does not have")
    return Fix(title, Safety(safety), tuple(Edit(Span(*numbers), text) for *numbers, text in edits), caveat)
