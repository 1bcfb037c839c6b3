"""The cache: what linting a file gave, by the file's content.

One JSON file for each combination of rules, configuration and versions. It is read whole, never
trusted (whatever does not look like a cache is ignored and replaced), and replaced atomically, so that
two runs at once can at worst lose each other's new entries.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint import __version__
from torchlint.engine import Analysis
from torchlint.files import replace
from torchlint.model import Edit, Evidence, FileResult, Finding, Fix, Heat, Safety, Severity, Span

if TYPE_CHECKING:
    from torchlint.config import Config
    from torchlint.rule import Rule

NAME = ".torchlint_cache"
_FORMAT = 2


def digest(*parts: bytes) -> str:
    """A hash of several byte strings that keeps their borders apart."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def for_settings(
    rules: Sequence[type[Rule]], active: frozenset[str], config: Config, directory: str | None = None
) -> Cache:
    """The cache of results for these rules and settings; in the configuration's folder unless another is named."""
    sources = [f"{rule.__module__}.{rule.__qualname__}" for rule in rules]
    settings = dataclasses.replace(
        config, fail_on=None, exclude=(), source=None, force_exclude=False, budget={}, time_limit=0.0
    )
    versions = [__version__, platform.python_version(), *_stamps()]
    parts = [*versions, *sources, repr(sorted(active)), repr(settings)]
    place = Path(directory) if directory else Path(config.root, NAME)
    return Cache(place, digest(*(part.encode() for part in parts)))


def _stamps() -> list[str]:
    """What changes when torchlint's own code or its parser changes, also in a checkout."""
    from importlib.metadata import version

    root = Path(__file__).parent
    stamps = [f"{file.relative_to(root)}:{file.stat().st_mtime_ns}" for file in sorted(root.rglob("*.py"))]
    return [version("libcst"), *stamps]


class Cache:
    """Results of one configuration, kept in ``directory``. Errors of the disk cost speed, never the run."""

    def __init__(self, directory: Path, key: str) -> None:
        self._file = directory / f"{key}.json"
        self._entries: dict[str, Any] = self._read()
        self._used: dict[str, Any] = {}
        self._changed = False

    def get(self, path: str, data: bytes) -> Analysis | None:
        """What these bytes at this path gave before; whether it still holds is for the project to say."""
        key = digest(path.encode("utf-8", "surrogatepass"), data)
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:
            analysis = _unpack_analysis(path, entry)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            return None
        self._used[key] = entry
        return analysis

    def put(self, data: bytes, analysis: Analysis) -> None:
        """Remember a result. What torchlint failed at is tried again."""
        result = analysis.result
        if not (result.problems or analysis.unfinished):
            key = digest(result.path.encode("utf-8", "surrogatepass"), data)
            self._used[key] = [analysis.facts, analysis.asked, *_pack(result)]
            self._changed = True

    def save(self) -> None:
        """Write what this run used; entries of files that it did not see are kept while there is room."""
        if not self._changed:
            return
        entries = dict(self._used)
        for key, entry in self._entries.items():
            if len(entries) >= 4 * len(self._used) + 10_000:
                break
            entries.setdefault(key, entry)
        with contextlib.suppress(OSError):
            _prepare(self._file.parent)
            document = {"format": _FORMAT, "entries": entries}
            replace(self._file, json.dumps(document, separators=(",", ":")).encode())

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self._file.read_bytes())
            entries = document["entries"] if document["format"] == _FORMAT else {}
            return entries if isinstance(entries, dict) else {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}


def _prepare(directory: Path) -> None:
    """Make the directory, with a ``.gitignore`` so that nobody commits it, and few old files in it."""
    directory.mkdir(parents=True, exist_ok=True)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        replace(ignore, b"*\n")
    kept = sorted(directory.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in kept[:-8]:
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
    evidence = [[e.line, e.column, e.text] for e in f.evidence]
    heat = f.heat.value if f.heat else None
    facts = [f.rule, f.name, f.topic, f.severity.value, f.message, heat, f.cell, f.fingerprint]
    return [*facts, _numbers(f.span), evidence, fix]


def _numbers(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


def _unpack_analysis(path: str, entry: list[Any]) -> Analysis:
    facts, asked, *packed = entry
    if not isinstance(facts, dict):
        raise TypeError("facts expected")
    questions = tuple((tuple(str(part) for part in question), str(found)) for question, found in asked)
    return Analysis(_unpack(path, packed), facts, questions)  # type: ignore[arg-type]


def _unpack(path: str, entry: list[Any]) -> FileResult:
    suppressed, *findings = entry
    if not isinstance(suppressed, int):
        raise TypeError("no count of suppressions")
    return FileResult(path, tuple(_unpack_finding(path, packed) for packed in findings), (), suppressed)


def _unpack_finding(path: str, packed: list[Any]) -> Finding:
    rule, name, topic, severity, message, heat, cell, fingerprint, span, evidence, fix = packed
    for text in (rule, name, topic, message, fingerprint):
        if not isinstance(text, str):
            raise TypeError("text expected")
    return Finding(
        rule=rule,
        name=name,
        topic=topic,
        severity=Severity(severity),
        path=path,
        span=_span(span),
        message=message,
        heat=Heat(heat) if heat is not None else None,
        evidence=tuple(Evidence(int(line), int(column), str(text)) for line, column, text in evidence),
        fix=_unpack_fix(fix) if fix is not None else None,
        cell=cell,
        fingerprint=fingerprint,
    )


def _span(numbers: Iterable[Any]) -> Span:
    line, column, end_line, end_column = (int(number) for number in numbers)
    return Span(line, column, end_line, end_column)


def _unpack_fix(packed: list[Any]) -> Fix:
    title, safety, caveat, edits = packed
    return Fix(title, Safety(safety), tuple(Edit(_span(edit[:4]), str(edit[4])) for edit in edits), caveat)
