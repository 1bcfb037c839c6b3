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
from torchlint.base.paths import shown
from torchlint.model import FileResult, Finding, Problem, Repairs, RunResult, Safety
from torchlint.run.discovery.sources import is_notebook
from torchlint.run.fixing.fix import ROUNDS, Lint, Repaired, key_of, offered, repair
from torchlint.run.narrow import EVERYTHING, Narrowing
from torchlint.run.plan import Plan
from torchlint.run.results import collect
from torchlint.run.rules import plugins, registry
from torchlint.run.session import Progress, Tree
from torchlint.text.lines import lines_in_words

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.run.cache import Cache
    from torchlint.run.linting.file import Analysis

CONFLICTS, UNWRITTEN, BROKEN, UNTRIED = "conflicts", "not written", "would break the file", "not tried"


_Changes = dict[str, tuple[bytes, bytes]]


class Fixed(NamedTuple):
    """The result of a run with fixes, and the changed files: their content before and after.

    ``every`` has all findings that are left, also those that are not reported.
    """

    result: RunResult
    changes: Mapping[str, tuple[bytes, bytes]]
    every: RunResult


@dataclass
class _Tally:
    """What was fixed and what was not, by path. ``exhausted`` are the files that reached their time limit."""

    what: Plan
    narrowing: Narrowing = EVERYTHING
    before: Mapping[str, bytes] = field(default_factory=dict)
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

    def open_ones(self, path: str, data: bytes, findings: Iterable[Finding], allowed: Safety) -> list[Finding]:
        """The fixes of a file with this content that may be applied and were not refused."""
        refused = self.refused.get(path, {})
        left = [finding for finding in offered(findings, allowed) if key_of(finding) not in refused]
        return [finding for finding in left if self.wanted(path, data, finding)]

    def wanted(self, path: str, data: bytes, finding: Finding) -> bool:
        """Whether a finding in a file with this content is reported, and therefore to be fixed."""
        return self.narrowing.reports(finding, (self.before[path], data))


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
    narrowing: Narrowing = EVERYTHING,
) -> Fixed:
    """Fix files as far as ``allowed``, and write those that are inside one of the folders ``write_below``.

    With None nothing is written, and the result is what it would be. Only what ``narrowing`` reports is fixed.
    """
    given = narrowing.contents
    tree = Tree(paths, what, jobs=jobs, cache=cache, progress=progress, repaired=True, given=given)
    before = dict(tree.contents)
    tally = _Tally(what, narrowing, before)
    for _ in range(ROUNDS):
        changed = _round(tree, allowed, tally)
        if not changed:
            break
        for path, seconds in tree.update(changed).items():
            tally.budget(path).charge(seconds)
    both = {path: (old, new) for path, old in before.items() if (new := tree.contents[path]) != old}
    changes, unwritten = as_files(tree, both)
    if write_below is not None:
        unwritten |= write(changes, write_below)
    if unwritten:
        changes = {path: change for path, change in changes.items() if path not in unwritten}
        tree.update({path: before[path] for path in unwritten})
    every = tree.result()
    run = narrowing.narrowed(every, {path: change for path, change in both.items() if path in changes})
    return Fixed(_summarized(run, tally, unwritten, allowed, tree.contents), changes, every)


def _round(tree: Tree, allowed: Safety, tally: _Tally) -> dict[str, bytes]:
    """Fix every file with fixes that may be applied; returns the changed files."""
    changed = {}
    for path, analysis in tree.reported().items():
        data = tree.contents[path]
        left_alone = path in tally.problems or path in tally.exhausted or path in tally.narrowing.left_alone
        if left_alone or not tally.open_ones(path, data, analysis.result.findings, allowed):
            continue
        budget = tally.budget(path)
        lint = linter(partial(tree.lint, path), budget)
        with budget.running():
            done = repair(data, analysis.result, lint, allowed, budget, partial(tally.wanted, path))
        tally.add(path, done._replace(refused=tree.placed(path, done.refused)))
        if done.data != data:
            changed[path] = done.data
    return changed


def linter(analyze: Callable[[bytes, float], Analysis], budget: limits.Budget) -> Lint:
    """A function that lints a file with other content, within what is left of its time limit."""

    def lint(data: bytes) -> FileResult:
        analysis = analyze(data, budget.left())
        if analysis.unfinished:
            raise limits.Exhausted
        return analysis.result

    return lint


def as_files(tree: Tree, changed: Mapping[str, tuple[bytes, bytes]]) -> tuple[_Changes, dict[str, str]]:
    """The content of changed files before and after, and what cannot be written, with the reason.

    What the tree knows of a notebook is its module.
    """
    changes, unwritten = _Changes(), dict[str, str]()
    for path, (old, new) in changed.items():
        if not tree.is_notebook(path):
            changes[path] = (old, new)
            continue
        from torchlint.run import notebooks

        try:
            changes[path] = notebooks.rewritten(path, old, new)
        except OSError as error:
            unwritten[path] = f"cannot be read again: {error.strerror or type(error).__name__}; nothing was changed"
        except notebooks.NotebookProblem as problem:
            unwritten[path] = problem.message
    return changes, unwritten


def write(changes: Mapping[str, tuple[bytes, bytes]], trees: Sequence[str]) -> dict[str, str]:
    """Write the files; returns those that could not be written, with the reason."""
    unwritten = {}
    for path, (old, new) in changes.items():
        try:
            rewrite(Path(path), old, new, trees)
        except NotWritten as reason:
            unwritten[path] = str(reason)
    return unwritten


def _summarized(
    run: RunResult, tally: _Tally, unwritten: Mapping[str, str], allowed: Safety, contents: Mapping[str, bytes]
) -> RunResult:
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
        untried = tally.open_ones(path, contents[path], findings, allowed) if path in contents else []
        reason = UNTRIED if path in tally.exhausted else CONFLICTS
        skipped[tally.narrowing.left_alone.get(path, reason)] += len(untried)
        if path in tally.exhausted and untried:
            problems.append(_untried(path, untried, tally.budget(path).seconds))
    unsafe = sum(f.fix is not None for f in run.findings) - len(offered(run.findings, allowed))
    repairs = Repairs(fixed, unsafe, tuple((reason, n) for reason, n in sorted(skipped.items()) if n))
    every = tuple(sorted((*run.problems, *problems), key=lambda problem: problem.sort_key))
    return run._replace(problems=every, repairs=repairs)


def _untried(path: str, findings: Sequence[Finding], seconds: float) -> Problem:
    """The problem for a file with fixes that were not tried."""
    lines: dict[tuple[str, int], set[int]] = {}
    for finding in findings:
        lines.setdefault((finding.rule, finding.cell or 0), set()).add(finding.span.line)
    which = ", ".join(
        f"{rule} on {f'cell {cell}, ' if cell else ''}{lines_in_words(numbers)}"
        for (rule, cell), numbers in sorted(lines.items())
    )
    count = f"{len(findings)} fixes were" if len(findings) > 1 else "1 fix was"
    limit = f"{seconds:g} s (`time-limit`)" if seconds else f"{limits.MEMORY / 1000:g} GB"
    advice = "run --fix again to go on, or raise the limit"
    return Problem(path, f"{count} not tried, since fixing the file took more than {limit}: {which}; {advice}")


def _broken(path: str, finding: Finding) -> Problem:
    where = plugins.where_to_report(registry.package_by_id(finding.rule))
    reason = f"the fix of {finding.rule} {finding.name} would break the file and was not made; please report it {where}"
    return Problem(path, reason, finding.span.line, finding.cell)


def fix_text(
    data: bytes, path: str, what: Plan, allowed: Safety, narrowing: Narrowing = EVERYTHING
) -> tuple[bytes, RunResult]:
    """Fix one text or notebook; returns the new bytes and the result."""
    if not is_notebook(path, data):
        return _fix_text(data, path, what, allowed, narrowing)
    from torchlint.run import notebooks

    try:
        book = notebooks.Book.read(data)
        module, run = _fix_text(book.module, path, what, allowed, narrowing)
        fixed = book.rewritten(data, module)
    except notebooks.NotebookProblem as problem:
        return data, collect([notebooks.problem_of(path, problem)], what, files=1)
    return fixed, notebooks.run_in_cells(run, path, module, book, what.scope(path).config)


def _fix_text(data: bytes, path: str, what: Plan, allowed: Safety, narrowing: Narrowing) -> tuple[bytes, RunResult]:
    first, analyze = _linted(data, path, what)
    tally = _Tally(what, narrowing, {path: data})
    budget = tally.budget(path)
    lint = linter(analyze, budget)
    with budget.running():
        done = repair(data, first, lint, allowed, budget, partial(tally.wanted, path))
    tally.add(path, done)
    run = narrowing.narrowed(collect([done.result], what, files=1), {path: (data, done.data)})
    return done.data, _summarized(run, tally, {}, allowed, {path: done.data})


def _linted(data: bytes, path: str, what: Plan) -> tuple[FileResult, Callable[[bytes, float], Analysis]]:
    """The result for a text, and a function that lints other content of it; the module of a notebook has no context."""
    if what.around.files and not is_notebook(path):
        tree = Tree([path], what, jobs=1, given={path: data})
        return tree.analyses[path].result, partial(tree.lint, path)
    return what.lint(data, path), lambda changed, seconds: what.analyze(changed, path, seconds=seconds)


# -- diffs -----------------------------------------------------------------------------------------


def diff(changes: Mapping[str, tuple[bytes, bytes]]) -> bytes:
    """A unified diff for ``git apply`` and ``patch -p1``, in the encoding of each file.

    That of a notebook shows its cells, and is for people only.
    """
    return b"".join(_diff(path, old, new) for path, (old, new) in sorted(changes.items()))


def _diff(path: str, old: bytes, new: bytes) -> bytes:
    if not is_notebook(path, old):
        return file_diff(path, old, new)
    from torchlint.run import notebooks

    parts = notebooks.changed_cells(old, new)
    return b"".join(file_diff(path, before, after, cell) for cell, before, after in parts)


def file_diff(path: str, old: bytes, new: bytes, cell: int | None = None) -> bytes:
    """A unified diff of a file, or of the source of a cell of a notebook."""
    name = _relative(path)
    if cell is None:
        return _unified(old, new, _quoted(b"a/" + name), _quoted(b"b/" + name))
    shown = _quoted(name + b":cell %d" % cell).rstrip(b"\t")
    return _unified(old, new, shown, shown)


def _unified(old: bytes, new: bytes, before: bytes, after: bytes) -> bytes:
    from difflib import diff_bytes, unified_diff

    return b"".join(_ended(line) for line in diff_bytes(unified_diff, _lines(old), _lines(new), before, after))


def _relative(path: str) -> bytes:
    """The path relative to the current folder, with forward slashes."""
    return os.fsencode(shown(path).lstrip("/"))


def _quoted(name: bytes) -> bytes:
    """A file name as git writes it: special characters as octal escapes, and a tab after a name with spaces.

    Two ``#`` are escaped as well, since CI systems take what may follow them for a command.
    """
    special = b'"\\#' if name.count(b"#") > 1 else b'"\\'
    if all(0x20 <= byte < 0x7F and byte not in special for byte in name):
        return name + (b"\t" if b" " in name else b"")
    escaped = b"".join(
        bytes((byte,)) if 0x20 <= byte < 0x7F and byte not in special else b"\\%03o" % byte for byte in name
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
