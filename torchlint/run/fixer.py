"""Fixes many files, round by round, and then writes them or shows a diff."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base import limits
from torchlint.base.files import NotWritten, rewrite
from torchlint.model import FileResult, Finding, Problem, Repairs, RunResult, Safety
from torchlint.run.fix import ROUNDS, Lint, Repaired, key_of, offered, repair
from torchlint.run.plan import Plan
from torchlint.run.session import Progress, Tree, collect
from torchlint.text.lines import lines_in_words

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.run.cache import Cache
    from torchlint.run.engine import Analysis

CONFLICTS, UNWRITTEN, BROKEN, UNTRIED = "conflicts", "not written", "would break the file", "not tried"


class Fixed(NamedTuple):
    """The result of a run with fixes, and the changed files: their content before and after."""

    result: RunResult
    changes: Mapping[str, tuple[bytes, bytes]]


@dataclass
class _Tally:
    """What was fixed and what was not, by path. ``exhausted`` are the files that reached their time limit."""

    what: Plan
    fixed: dict[str, list[Finding]] = field(default_factory=dict)
    refused: dict[str, dict[tuple[str, str], Finding]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    exhausted: set[str] = field(default_factory=set)
    budgets: dict[str, limits.Budget] = field(default_factory=dict)

    def add(self, path: str, done: Repaired) -> None:
        """Record the result of one round for a file."""
        self.fixed.setdefault(path, []).extend(done.fixed)
        refused = self.refused.setdefault(path, {})
        for finding in done.fixed:
            refused.pop(key_of(finding), None)
        refused.update((key_of(finding), finding) for finding in done.refused)
        if done.problem is not None:
            self.problems[path] = done.problem
        if done.exhausted:
            self.exhausted.add(path)

    def budget(self, path: str) -> limits.Budget:
        """The time limit for all attempts to fix a file."""
        return self.budgets.setdefault(path, limits.Budget(self.what.scope(path).config.time_limit))

    def open_ones(self, path: str, findings: Iterable[Finding], allowed: Safety) -> list[Finding]:
        """The fixes of a file that may be applied and were not refused."""
        refused = self.refused.get(path, {})
        return [finding for finding in offered(findings, allowed) if key_of(finding) not in refused]


def trees(paths: Sequence[str], config: Config) -> list[str]:
    """The folders in which files may be written: the project, if a configuration defines it, and the given paths.

    A given path that is a link counts as found, not as given: shells expand a pattern to everything that it matches.
    """
    here = Path.cwd()
    named = [Path(path) if Path(path).is_dir() else Path(path).parent for path in paths]
    meant = [
        str(folder)
        for folder in named
        if folder.resolve().is_relative_to(here.resolve()) or not Path(os.path.abspath(folder)).is_relative_to(here)  # noqa: PTH100
    ]
    return [config.root, *meant] if config.source else meant


def fix_files(
    paths: Sequence[str],
    what: Plan,
    allowed: Safety,
    *,
    write_below: Sequence[str] | None,
    jobs: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Fixed:
    """Fix files as far as ``allowed``, and write those that are inside one of the folders ``write_below``.

    With None nothing is written, and the result is what it would be.
    """
    tree = Tree(paths, what, jobs=jobs, cache=cache, progress=progress, repaired=True)
    before = dict(tree.contents)
    tally = _Tally(what)
    for _ in range(ROUNDS):
        changed = _round(tree, allowed, tally)
        if not changed:
            break
        for path, seconds in tree.update(changed).items():
            tally.budget(path).charge(seconds)
    changes = {path: (old, new) for path, old in before.items() if (new := tree.contents[path]) != old}
    unwritten = {} if write_below is None else _write(changes, write_below)
    if unwritten:
        changes = {path: change for path, change in changes.items() if path not in unwritten}
        tree.update({path: before[path] for path in unwritten})
    result = _summarised(tree.result(), tally, unwritten, allowed)
    return Fixed(result, changes)


def _round(tree: Tree, allowed: Safety, tally: _Tally) -> dict[str, bytes]:
    """Fix every file with fixes that may be applied; returns the changed files."""
    changed = {}
    for path, analysis in tree.analyses.items():
        left_alone = path in tally.problems or path in tally.exhausted
        if left_alone or not tally.open_ones(path, analysis.result.findings, allowed):
            continue
        budget = tally.budget(path)
        lint = _linter(partial(tree.lint, path), budget)
        with budget.running():
            done = repair(tree.contents[path], analysis.result, lint, allowed, budget)
        tally.add(path, done)
        if done.data != tree.contents[path]:
            changed[path] = done.data
    return changed


def _linter(analyse: Callable[[bytes, float], Analysis], budget: limits.Budget) -> Lint:
    """A function that lints a file with other content, within what is left of its time limit."""

    def lint(data: bytes) -> FileResult:
        analysis = analyse(data, budget.left())
        if analysis.unfinished:
            raise limits.Exhausted
        return analysis.result

    return lint


def _write(changes: Mapping[str, tuple[bytes, bytes]], trees: Sequence[str]) -> dict[str, str]:
    """Write the files; returns those that could not be written, with the reason."""
    unwritten = {}
    for path, (old, new) in changes.items():
        try:
            rewrite(Path(path), old, new, trees)
        except NotWritten as reason:
            unwritten[path] = str(reason)
    return unwritten


def _summarised(run: RunResult, tally: _Tally, unwritten: Mapping[str, str], allowed: Safety) -> RunResult:
    fixed = tuple(f for path, findings in tally.fixed.items() if path not in unwritten for f in findings)
    skipped = Counter({UNWRITTEN: sum(len(tally.fixed[path]) for path in unwritten)})
    problems = [Problem(path, reason) for path, reason in unwritten.items()]
    for path, refused in tally.refused.items():
        skipped[BROKEN] += len(refused)
        problems += [_broken(path, finding) for finding in refused.values()]
    problems += [Problem(path, f"was not fixed: {reason}") for path, reason in tally.problems.items()]
    left: dict[str, list[Finding]] = {}
    for finding in run.findings:
        if finding.path not in unwritten:
            left.setdefault(finding.path, []).append(finding)
    for path, findings in left.items():
        untried = tally.open_ones(path, findings, allowed)
        skipped[UNTRIED if path in tally.exhausted else CONFLICTS] += len(untried)
        if path in tally.exhausted and untried:
            problems.append(_untried(path, untried, tally.budget(path).seconds))
    unsafe = sum(f.fix is not None for f in run.findings) - len(offered(run.findings, allowed))
    repairs = Repairs(fixed, unsafe, tuple((reason, n) for reason, n in sorted(skipped.items()) if n))
    every = tuple(sorted((*run.problems, *problems), key=lambda problem: problem.sort_key))
    return run._replace(problems=every, repairs=repairs)


def _untried(path: str, findings: Sequence[Finding], seconds: float) -> Problem:
    """The problem for a file with fixes that were not tried."""
    lines: dict[str, set[int]] = {}
    for finding in findings:
        lines.setdefault(finding.rule, set()).add(finding.span.line)
    which = ", ".join(f"{rule} on {lines_in_words(numbers)}" for rule, numbers in sorted(lines.items()))
    count = f"{len(findings)} fixes were" if len(findings) > 1 else "1 fix was"
    limit = f"{seconds:g} s (`time-limit`)" if seconds else f"{limits.MEMORY / 1000:g} GB"
    advice = "run --fix again to go on, or raise the limit"
    return Problem(path, f"{count} not tried, since fixing the file took more than {limit}: {which}; {advice}")


def _broken(path: str, finding: Finding) -> Problem:
    reason = f"the fix of {finding.rule} {finding.name} would break the file and was not made; please report it"
    return Problem(path, reason, finding.span.line)


def fix_text(data: bytes, path: str, what: Plan, allowed: Safety) -> tuple[bytes, RunResult]:
    """Fix one text without facts of other files; returns the new bytes and the result."""
    first = what.lint(data, path)
    tally = _Tally(what)
    budget = tally.budget(path)
    lint = _linter(lambda changed, seconds: what.analyse(changed, path, seconds=seconds), budget)
    with budget.running():
        done = repair(data, first, lint, allowed, budget)
    tally.add(path, done)
    run = collect([done.result], what, files=1)
    return done.data, _summarised(run, tally, {}, allowed)


# -- diffs -----------------------------------------------------------------------------------------


def diff(changes: Mapping[str, tuple[bytes, bytes]]) -> bytes:
    """A unified diff for ``git apply`` and ``patch -p1``, in the encoding of each file."""
    return b"".join(_diff(path, old, new) for path, (old, new) in sorted(changes.items()))


def _diff(path: str, old: bytes, new: bytes) -> bytes:
    from difflib import diff_bytes, unified_diff

    name = _relative(path)
    before, after = _lines(old), _lines(new)
    names = (_quoted(b"a/" + name), _quoted(b"b/" + name))
    return b"".join(_ended(line) for line in diff_bytes(unified_diff, before, after, *names))


def _relative(path: str) -> bytes:
    """The path relative to the current folder, with forward slashes."""
    relative = os.path.relpath(path)
    shown = path if relative.startswith("..") else relative
    return os.fsencode(shown.replace(os.sep, "/").lstrip("/"))


def _quoted(name: bytes) -> bytes:
    """A file name as git writes it: special characters as octal escapes, and a tab after a name with spaces."""
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in name):
        return name + (b"\t" if b" " in name else b"")
    escaped = b"".join(
        bytes((byte,)) if 0x20 <= byte < 0x7F and byte not in b'"\\' else b"\\%03o" % byte for byte in name
    )
    return b'"' + escaped + b'"'


def _lines(data: bytes) -> list[bytes]:
    """Lines as ``diff`` counts them: only LF ends a line."""
    return [part + b"\n" for part in data[:-1].split(b"\n")] if data.endswith(b"\n") else _open_lines(data)


def _open_lines(data: bytes) -> list[bytes]:
    if not data:
        return []
    *ended, last = data.split(b"\n")
    return [*(part + b"\n" for part in ended), last]


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
