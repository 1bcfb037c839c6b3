"""Writes suppression comments into many files (``--add-ignore``), each only if it is proved to change nothing else.

The proof for a file: its abstract syntax tree is the same as before, and linting it again finds nothing that was not
found before, none of the suppressed findings, and no unused suppression.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base import limits
from torchlint.base.interpreter import deep_recursion
from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION, FileResult, Finding, Problem, RunResult
from torchlint.run.fixing.fix import Lint, edited
from torchlint.run.fixing.fixer import as_files, linter, write
from torchlint.run.fixing.ignore_comments import Commented, commented
from torchlint.run.narrow import EVERYTHING, Narrowing
from torchlint.run.session import Progress, Tree
from torchlint.text.decode import DecodeProblem, decode, encode

if TYPE_CHECKING:
    from torchlint.run.cache import Cache
    from torchlint.run.plan import Plan

_ROUNDS = 5
_BY_REASON = "the rule reads comments, and the words of the reason change what it finds; give another --reason"
_NEVER = {
    SYNTAX_ERROR: "correct the file, or exclude it",
    UNUSED_SUPPRESSION: "correct or delete the comment",
}


class Ignored(NamedTuple):
    """The result of a run with ``--add-ignore``: what was suppressed, why the rest was not, and the changed files.

    ``result`` is that of linting the changed files.
    """

    result: RunResult
    changes: Mapping[str, tuple[bytes, bytes]]
    suppressed: tuple[Finding, ...]
    left: Mapping[Finding, str]


class _Refused(Exception):
    """Why nothing is written into a file."""


class _Done(NamedTuple):
    """The new content of one file, and its findings that are suppressed and left."""

    data: bytes
    suppressed: tuple[Finding, ...]
    left: Mapping[Finding, str]


def add_ignores(
    paths: Sequence[str],
    what: Plan,
    reason: str,
    *,
    write_below: Sequence[str] | None,
    jobs: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    narrowing: Narrowing = EVERYTHING,
) -> Ignored:
    """Suppress every reported finding that makes the run fail, in the files inside one of the folders ``write_below``.

    With None nothing is written, and the result is what it would be.
    """
    tree = Tree(paths, what, jobs=jobs, cache=cache, progress=progress, repaired=True, given=narrowing.contents)
    before = dict(tree.contents)
    done: dict[str, _Done] = {}
    refused: dict[str, str] = {}
    for path in tree.reported():
        try:
            done[path] = _in_file(path, tree, what, reason, narrowing)
        except _Refused as why:
            refused[path] = f"no suppression was written: {why}"
    both = {path: (before[path], own.data) for path, own in done.items() if own.data != before[path]}
    changes, unwritten = as_files(tree, both)
    if write_below is not None:
        unwritten |= write(changes, write_below)
    for path in unwritten:
        changes.pop(path, None)
        del done[path]
    placed = [_placed(tree, path, own) for path, own in done.items()]
    tree.update({path: done[path].data for path in changes})
    problems = [Problem(path, why) for path, why in (refused | unwritten).items()]
    result = narrowing.narrowed(tree.result(), {path: both[path] for path in changes})
    result = result._replace(problems=tuple(sorted((*result.problems, *problems), key=lambda p: p.sort_key)))
    suppressed = tuple(finding for own in placed for finding in own.suppressed)
    left = {finding: why for own in placed for finding, why in own.left.items()}
    # Cells that are not Python are not part of what is linted.
    left |= {f: _NEVER[f.rule] for f in result.findings if f.rule == SYNTAX_ERROR and what.fails(f)}
    return Ignored(result, changes, suppressed, left)


def _placed(tree: Tree, path: str, done: _Done) -> _Done:
    """The same with findings in cells, if the file is a notebook."""
    left = dict(zip(tree.placed(path, tuple(done.left)), done.left.values(), strict=True))
    return done._replace(suppressed=tree.placed(path, done.suppressed), left=left)


def _in_file(path: str, tree: Tree, what: Plan, reason: str, narrowing: Narrowing) -> _Done:
    """Suppress the findings of one file within its time limit. Raises :class:`_Refused`."""
    data, before = tree.contents[path], tree.analyses[path].result
    wanted = [finding for finding in before.findings if what.fails(finding) and narrowing.reports(finding)]
    if wanted and path in narrowing.left_alone:
        raise _Refused(f"the file has {narrowing.left_alone[path]}; stage or stash them first")
    budget = limits.Budget(what.scope(path).config.time_limit)
    try:
        with budget.running():
            return _suppressed(data, before, wanted, reason, linter(partial(tree.lint, path), budget))
    except limits.Exhausted:
        raise _Refused(limits.out_of_time(budget.seconds)) from None


def _suppressed(data: bytes, before: FileResult, wanted: Sequence[Finding], reason: str, lint: Lint) -> _Done:
    """Suppress these findings of a file, without those whose comment turns out to have no effect."""
    left = {finding: _NEVER[finding.rule] for finding in wanted if finding.rule in _NEVER}
    if len(left) == len(wanted):
        return _Done(data, (), left)
    try:
        text = decode(data)
        encode(text, data)
    except DecodeProblem as problem:
        raise _Refused(problem.message) from None
    for _ in range(_ROUNDS):
        comments = commented(text, [finding for finding in wanted if finding not in left], reason)
        left.update(comments.left)
        if not comments.edits:
            return _Done(data, (), left)
        changed = edited(text, comments.edits)
        if not _is_same_program(text, changed):
            raise _Refused("the comments would change the meaning of the code; please report it with the file")
        new = _encoded(changed, data)
        without_effect = _without_effect(before, lint(new), comments)
        if not without_effect:
            return _Done(new, comments.suppressed, left)
        left.update(without_effect)
    raise _Refused("the comments change what other rules find; please report it with the file")


def _encoded(text: str, like: bytes) -> bytes:
    try:
        return encode(text, like)
    except DecodeProblem:
        raise _Refused("the encoding of the file lacks characters of the reason; give another --reason") from None


def _is_same_program(one: str, other: str) -> bool:
    """Whether Python reads both texts as the same program."""
    with warnings.catch_warnings(), deep_recursion():
        warnings.simplefilter("ignore")
        try:
            return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise _Refused("this version of Python cannot parse it") from None


def _without_effect(before: FileResult, after: FileResult, comments: Commented) -> dict[Finding, str]:
    """The findings whose comment does not just suppress them, and why. Raises if something else has changed."""
    if after.problems and not before.problems:
        raise _Refused(f"linting it with the comments fails: {after.problems[0].message}")
    known = set(map(_key, before.findings)) - set(map(_key, comments.suppressed))
    ineffective: dict[Finding, str] = {}
    for finding in after.findings:
        if _key(finding) in known:
            continue
        ours = [own for own in comments.suppressed if _concerns(finding, own)]
        if not ours:
            raise _Refused("the comments change what other rules find; please report it with the file")
        ineffective.update(dict.fromkeys(ours, _BY_REASON))
    return ineffective


def _key(finding: Finding) -> tuple[str, int, str]:
    """The identity of a finding while comments are added to lines."""
    return finding.rule, finding.span.line, finding.message


def _concerns(found: Finding, suppressed: Finding) -> bool:
    """Whether what is found with the comments is a finding that should be suppressed, or its unused suppression."""
    if found.rule != UNUSED_SUPPRESSION:
        return _key(found) == _key(suppressed)
    first, last = suppressed.statement or (1, 0)
    return first <= found.span.line <= last and suppressed.rule in found.message
