"""Lints the repositories of one group, and writes what is found."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.base import limits
from torchlint.model import SYNTAX_ERROR, Finding, RunResult
from torchlint.report.json import finding_document
from torchlint.report.shared import rules_by_id
from torchlint.run.session import Tree, plan
from torchlint.scan import groups, repositories, results, rows
from torchlint.scan.crumbs import Crumbs
from torchlint.scan.problems import reason
from torchlint.scan.store import Store
from torchlint.scan.watch import Watch
from torchlint.text.decode import DecodeProblem, decode

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.run.plan import Plan

_LOADED = 64_000_000  # bytes of content that are in memory at once, unless one repository is larger
_DIED = "the process ended while this file was linted"
_GAVE_UP = "the process ended too often while this repository was linted"


class Work(NamedTuple):
    """What the tasks for groups need to know: the runs, the configuration, how many bytes of a repository are linted
    together, and what could not be read of pieces of the input.
    """

    output: Store
    runs: list[str]
    config: bytes
    limit: int
    without: Mapping[str, list[str]]


class _Part(NamedTuple):
    """Files of a repository that are linted together (``number`` counts from 1 if there are several parts), and rows
    that are not linted.
    """

    repo: str
    number: int
    files: list[groups.Entry]
    others: list[groups.Entry]


class _Lint:
    """Lints the parts of one group."""

    def __init__(self, what: Plan, crumbs: Crumbs) -> None:
        self._what, self._crumbs = what, crumbs
        self._watch = Watch(limits.patience(what.config.time_limit))
        self.files: list[dict[str, Any]] = []
        self.findings: list[dict[str, Any]] = []

    def part(self, part: _Part, contents: Mapping[str, bytes]) -> None:
        """Lint one part; an error concerns its files only."""
        self.files += [_row(entry, entry.status, entry.reason) for entry in part.others]
        if not part.files:
            return
        key = f"{part.repo}\0{part.number}"
        self._crumbs.at(key)
        deadly = set(self._crumbs.deadly(key))
        try:
            if self._crumbs.hopeless(key):
                raise RuntimeError(_GAVE_UP)
            states, run = self._lint(key, part, {path: data for path, data in contents.items() if path not in deadly})
        except Exception as error:  # a defect of torchlint, or too little memory
            states, run = dict.fromkeys(contents, (rows.FAILED, reason(error))), RunResult()
        states |= dict.fromkeys(deadly, (rows.FAILED, _DIED))
        known = rules_by_id(run)
        self.findings += [{"repo": part.repo, **finding_document(found, known)} for found in run.findings]
        counts = Counter(found.path for found in run.findings)
        for entry in part.files:
            row = _row(entry, *states[entry.path])
            self.files.append(row | {"findings": counts[entry.path], "part": part.number})

    def _lint(
        self, key: str, part: _Part, contents: Mapping[str, bytes]
    ) -> tuple[dict[str, tuple[str, str]], RunResult]:
        """The state of each file, and the findings."""

        def before(path: str) -> None:
            self._crumbs.file(key, path)
            self._watch.again()

        with self._watch:
            tree = Tree(sorted(contents), self._what, jobs=1, given=contents, before=before)
            run = tree.result()
        problems = {problem.path: problem.message for problem in run.problems}
        refused = {found.path: found for found in run.findings if found.rule == SYNTAX_ERROR}
        states = {}
        for entry in part.files:
            path = entry.path
            if path in problems:
                states[path] = (rows.FAILED if path in tree.analyses else rows.MALFORMED), problems[path]
            elif path in refused:
                unfinished = tree.analyses[path].unfinished
                states[path] = _refusal(refused[path], entry.size, tree.contents[path], unfinished=unfinished)
            else:
                states[path] = rows.LINTED, ""
        return states, run


def lint_group(work: Work, group: int) -> None:
    """Lint the repositories of a group and write their results. Raises ``OSError``."""
    began = time.process_time()
    shuffled = work.output.below("work")
    crumbs = Crumbs(shuffled, group)
    lint = _Lint(_plan(work.config), crumbs)
    entries = sorted(groups.entries(shuffled, work.runs, group), key=lambda entry: (entry.repo, entry.path))
    for parts in _loads(_parts(_distinct(entries), work.limit)):
        contents: dict[str, dict[str, bytes]] = {}
        wanted = [entry for part in parts for entry in part.files]
        for entry, data in groups.contents(shuffled, work.runs, group, wanted):
            contents.setdefault(entry.repo, {})[entry.path] = data
        for part in parts:
            there = contents.get(part.repo, {})
            lint.part(part, {entry.path: there[entry.path] for entry in part.files})
    found = repositories.table(lint.files)
    tables = {"findings": lint.findings, "files": lint.files, "repositories": found}
    counts = repositories.counts(**tables) | {"without": work.without, "seconds": time.process_time() - began}
    for table, listed in tables.items():
        results.write(work.output, table, group, listed, counts)
    crumbs.done()


@lru_cache(maxsize=1)
def _plan(config: bytes) -> Plan:
    """The plan for a configuration, whose globs apply to the paths in repositories."""
    given: Config = pickle.loads(config)
    here = str(Path.cwd())
    return plan(given.rooted(here))


def _distinct(entries: Sequence[groups.Entry]) -> Iterator[groups.Entry]:
    """The rows, of which those for the same file as one before are marked as duplicates."""
    before = None
    for entry in entries:
        same = entry.path and before == (entry.repo, entry.path)
        if not entry.status:
            before = (entry.repo, entry.path)
        yield entry._replace(status=rows.DUPLICATE) if same and not entry.status else entry


def _parts(entries: Iterator[groups.Entry], limit: int) -> Iterator[_Part]:
    """The parts of all repositories: one for each, or several in the order of paths if it is larger than the limit."""
    for repo, found in groupby(entries, key=lambda entry: entry.repo):
        listed = list(found)
        files, others = [e for e in listed if not e.status], [e for e in listed if e.status]
        whole = sum(map(_loaded, files)) <= limit
        for number, chosen in enumerate([files] if whole else _cut(files, limit), start=1):
            yield _Part(repo, 0 if whole else number, chosen, others if number == 1 else [])


def _cut(files: Sequence[groups.Entry], limit: int) -> Iterator[list[groups.Entry]]:
    kept: list[groups.Entry] = []
    held = 0
    for one in files:
        if kept and held + _loaded(one) > limit:
            yield kept
            kept, held = [], 0
        kept.append(one)
        held += _loaded(one)
    yield kept


def _loads(parts: Iterator[_Part]) -> Iterator[list[_Part]]:
    """Consecutive parts that fit into memory together."""
    kept: list[_Part] = []
    held = 0
    for part in parts:
        size = sum(map(_loaded, part.files))
        if kept and held + size > _LOADED:
            yield kept
            kept, held = [], 0
        kept.append(part)
        held += size
    yield kept


def _loaded(entry: groups.Entry) -> int:
    return min(entry.size, rows.most(entry.path) + 1)


def _row(entry: groups.Entry, status: str, why: str) -> dict[str, Any]:
    """A row of the table of files."""
    place = {"source": entry.source, "number": entry.number}
    return {
        "repo": entry.repo,
        "path": entry.path,
        "status": status,
        "reason": why,
        "bytes": entry.size,
        "part": 0,
        **place,
    }


def _refusal(found: Finding, size: int, data: bytes, *, unfinished: bool) -> tuple[str, str]:
    """Why a file could not be linted as a whole: the kind, and the message of the finding."""
    if unfinished:
        return rows.FAILED, found.message
    if size > rows.most(found.path):
        return rows.TOO_LARGE, found.message
    try:
        decode(data)
    except DecodeProblem:
        return rows.ENCODING, found.message
    return rows.SYNTAX_ERROR, found.message
