"""Compares the findings of a run with the baselines of its files."""

# os.path, because real paths of many files are compared as strings.
# ruff: noqa: PTH100, PTH118, PTH120
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from torchlint.base.paths import relative_to, shown
from torchlint.config.select import left_on
from torchlint.model import SYNTAX_ERROR, Accepted, Finding, RunResult
from torchlint.run.baselines.baseline import Baseline, BaselineProblem, load
from torchlint.run.discovery import linted
from torchlint.run.discovery.sources import content
from torchlint.run.linting.fingerprints import fingerprint
from torchlint.text.decode import decode
from torchlint.text.lines import split_lines

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.run.plan import Plan

Renames = Callable[[Baseline, Sequence[str]], tuple[Mapping[str, str], frozenset[str]]]
_CHANGED = "{}: was changed while it was linted; run torchlint again"
_Key = tuple[str, str]  # a rule, and the text of a line


class AcceptedFindings:
    """The baselines of the files of a run.

    ``renames`` is asked about the paths of a baseline at which there is no file: it returns the new names of those that
    have been renamed, and the paths whose file is only left out of this checkout.
    """

    def __init__(self, paths: Iterable[str], what: Plan, renames: Renames, *, create: bool = False) -> None:
        self._what = what
        self._baselines: dict[str, Baseline] = {}
        self._places: dict[str, tuple[str, str]] = {}  # the baseline of each file, and its path there
        self._folders: dict[str, str] = {}
        self._gone: dict[str, frozenset[str]] = {}
        self._known: dict[str, dict[str, _Key]] = {}
        scopes = {path: what.scope(path).config for path in paths}
        for config in (what.config, *scopes.values()):
            file = _file(config)
            if file is not None and file not in self._baselines:
                self._baselines[file] = self._loaded(file, renames, create=create)
        for path, config in scopes.items():
            if (file := _file(config)) is not None:
                self._places[path] = file, self._relative(file, path)

    def has(self, finding: Finding) -> bool:
        """Whether a finding is accepted."""
        return finding.fingerprint in self._fingerprints(finding.path)

    def files(self) -> list[str]:
        """The files of the baselines, as messages name them."""
        return [baseline.file for _, baseline in sorted(self._baselines.items())]

    def obsolete(self, run: RunResult) -> list[Accepted]:
        """What the baselines accept and a run with all findings did not find, though it looked."""
        found = []
        for file, baseline in sorted(self._baselines.items()):
            left = Counter({(e.path, e.rule, e.line): e.times for e in baseline.entries})
            left.subtract({(e.path, e.rule, e.line): e.times for e in self._pruned(file, run).entries})
            found += [Accepted(*key, count) for key, count in sorted(left.items()) if count > 0]
        return found

    def prune(self, run: RunResult) -> list[str]:
        """Drop what :meth:`obsolete` lists; returns the baselines that were written. Raises ``BaselineProblem``."""
        return self._replace({file: self._pruned(file, run) for file in self._baselines})

    def accept(self, run: RunResult) -> list[str]:
        """Accept exactly the findings of a run; entries of what it did not look at stay. Raises ``BaselineProblem``."""
        updated = {}
        for file, baseline in self._baselines.items():
            judged = self._judged(file, run)
            kept = [entry for entry in baseline.entries if not judged(entry)]
            updated[file] = baseline.with_entries([*kept, *self._present(file, run)])
        return self._replace(updated)

    def _replace(self, updated: dict[str, Baseline]) -> list[str]:
        self._known.clear()
        self._baselines = updated
        return [baseline.file for _, baseline in sorted(updated.items()) if baseline.write()]

    def _fingerprints(self, path: str) -> Mapping[str, _Key]:
        """The fingerprints of the accepted findings of a file."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = {}
            if path in self._places:
                file, own = self._places[path]
                config = self._what.scope(path).config
                for (rule, line), count in self._baselines[file].counts.get(own, {}).items():
                    for number in range(count):
                        known[fingerprint(rule, path, line, number, config)] = rule, line
        return known

    def _pruned(self, file: str, run: RunResult) -> Baseline:
        baseline, judged = self._baselines[file], self._judged(file, run)
        found: Counter[tuple[str, _Key]] = Counter()
        for finding in run.findings:
            own = self._places.get(finding.path)
            key = self._fingerprints(finding.path).get(finding.fingerprint)
            if own is not None and own[0] == file and key is not None:
                found[own[1], key] += 1
        counted = (
            entry._replace(times=found[entry.path, (entry.rule, entry.line)]) if judged(entry) else entry
            for entry in baseline.entries
        )
        return baseline.with_entries(counted)

    def _judged(self, file: str, run: RunResult) -> Callable[[Accepted], bool]:
        """Which entries the run can judge: of active rules in files that it checked, and of files that are gone."""
        unchecked = {problem.path for problem in run.problems}
        unchecked |= {finding.path for finding in run.findings if finding.rule == SYNTAX_ERROR}
        on = {}
        for path, (own, name) in self._places.items():
            if own == file and path not in unchecked:
                config, active = self._what.scope(path)
                on[name] = left_on(path, active, config, self._what.rules)[0]
        gone = self._gone[file]
        return lambda entry: entry.path in gone or entry.rule in on.get(entry.path, ())

    def _present(self, file: str, run: RunResult) -> list[Accepted]:
        """The findings of the run as entries."""
        counts: Counter[tuple[str, str, str]] = Counter()
        accepted = [finding for finding in run.findings if finding.rule != SYNTAX_ERROR]
        for path, findings in groupby(accepted, lambda finding: finding.path):
            place = self._places.get(path)
            if place is None or place[0] != file:
                continue
            code = _code(path)
            lines = split_lines(decode(code))
            for finding in findings:
                number = linted.lines_of(finding, code)[0]
                line = lines[number - 1].strip() if number <= len(lines) else ""
                self._check(finding, line, counts[place[1], finding.rule, line])
                counts[place[1], finding.rule, line] += 1
        return [Accepted(*key, count) for key, count in counts.items()]

    def _check(self, finding: Finding, line: str, number: int) -> None:
        """Make sure that an entry with this text will match the finding."""
        config = self._what.scope(finding.path).config
        if fingerprint(finding.rule, finding.path, line, number, config) != finding.fingerprint:
            raise BaselineProblem(_CHANGED.format(finding.path))

    def _loaded(self, file: str, renames: Renames, *, create: bool) -> Baseline:
        baseline = load(shown(file), create=create)
        folder = self._real(os.path.dirname(os.path.abspath(file)))
        missing = [path for path in sorted(baseline.counts) if not os.path.lexists(os.path.join(folder, path))]
        names, absent = renames(baseline, missing) if missing else ({}, frozenset())
        self._gone[file] = frozenset(missing) - absent - names.keys()
        return baseline.renamed(names) if names else baseline

    def _relative(self, file: str, path: str) -> str:
        """The path of a linted file as the baseline names it."""
        folder, base = os.path.split(os.path.abspath(path))
        start = self._real(os.path.dirname(os.path.abspath(file)))
        return relative_to(start, os.path.join(self._real(folder), base))

    def _real(self, folder: str) -> str:
        found = self._folders.get(folder)
        if found is None:
            found = self._folders[folder] = os.path.realpath(folder)
        return found


def _code(path: str) -> bytes:
    try:
        return content(path)
    except OSError:
        raise BaselineProblem(_CHANGED.format(path)) from None


def _file(config: Config) -> str | None:
    return os.path.join(config.root, config.baseline) if config.baseline else None
