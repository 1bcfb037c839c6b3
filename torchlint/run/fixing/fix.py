"""Applies fixes to one file: which ones can be applied together, and whether the result still compiles."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torchlint.base import limits
from torchlint.model import SYNTAX_ERROR, Edit, FileResult, Finding, Safety, Severity
from torchlint.text.cells import Cells
from torchlint.text.decode import DecodeProblem, decode, encode
from torchlint.text.lines import Places

ROUNDS = 10
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # in cells of notebooks
Lint = Callable[[bytes], FileResult]
Wanted = Callable[[bytes, Finding], bool]
_Range = tuple[int, int, str]


class Repaired(NamedTuple):
    """The result of fixing one file: its bytes, the remaining findings and the fixed ones.

    ``refused`` are the findings whose fix would break the file, ``problem`` says why nothing could be done, and
    ``exhausted`` whether some fixes were not tried because of the time limit.
    """

    data: bytes
    result: FileResult
    fixed: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()
    problem: str | None = None
    exhausted: bool = False


def offered(findings: Iterable[Finding], allowed: Safety) -> list[Finding]:
    """The findings with a fix that may be applied."""
    return [f for f in findings if f.fix is not None and allowed in (f.fix.safety, Safety.UNSAFE)]


def repair(
    data: bytes,
    result: FileResult,
    lint: Lint,
    allowed: Safety,
    budget: limits.Budget | None = None,
    wanted: Wanted | None = None,
) -> Repaired:
    """Apply the fixes of one file, round by round, until none is left or the time limit is reached.

    ``result`` is the result of linting ``data``; ``lint`` lints the same file with other content, and may raise
    :class:`~torchlint.base.limits.Exhausted`. ``wanted`` says of a finding in the text so far whether to fix it.
    """
    work = _Work(data, result, lint, budget or limits.Budget(0), wanted or _every)
    exhausted = False
    try:
        for _ in range(ROUNDS):
            if not work.round(allowed):
                break
    except DecodeProblem as problem:
        return Repaired(data, result, problem=problem.message)
    except limits.Exhausted:
        exhausted = True
    return Repaired(work.data, work.result, tuple(work.fixed), tuple(work.refused.values()), exhausted=exhausted)


@dataclass
class _Work:
    """The state of fixing one file. ``tried`` are the fixes that have been refused for the current text."""

    data: bytes
    result: FileResult
    lint: Lint
    budget: limits.Budget
    wanted: Wanted
    fixed: list[Finding] = field(default_factory=list)
    refused: dict[tuple[str, str], Finding] = field(default_factory=dict)
    tried: set[tuple[str, str]] = field(default_factory=set)

    def round(self, allowed: Safety) -> bool:
        """Apply as many fixes as possible together. False if there is nothing to do.

        A fix that was refused in an earlier round is tried again once other fixes have changed the text, so a second
        run finds nothing to do.
        """
        untried = [f for f in offered(self.result.findings, allowed) if key_of(f) not in self.tried]
        candidates = [finding for finding in untried if self.wanted(self.data, finding)]
        if not candidates:
            return False
        text = decode(self.data)
        attempt = _Attempt(self, text, self.result)
        try:
            attempt.make(compatible(text, candidates))
        finally:
            attempt.keep()
        return True


@dataclass
class _Attempt:
    """The fixes of one round: ``made`` can be applied together, with the results ``data`` and ``result``."""

    work: _Work
    text: str
    before: FileResult
    made: list[Finding] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    data: bytes | None = None
    result: FileResult | None = None

    def make(self, fixes: Sequence[Finding]) -> None:
        """Apply these fixes as well; if some of them break the file, find these by bisection."""
        self.work.budget.left()
        if self._accept([*self.made, *fixes]):
            return
        if len(fixes) == 1:
            self.refused += fixes
            return
        middle = len(fixes) // 2
        self.make(fixes[:middle])
        self.make(fixes[middle:])

    def _accept(self, fixes: list[Finding]) -> bool:
        """Apply all of these fixes, if the result compiles and has no new errors."""
        changed = applied(self.text, fixes)
        if not _is_sound(changed, self.text):
            return False
        data = encode(changed, self.work.data)
        result = self.work.lint(data)
        if result.problems or _errors(result) - _errors(self.before):
            return False
        self.made, self.data, self.result = fixes, data, result
        return True

    def keep(self) -> None:
        """Record what was applied and refused, also if the time limit ended the round early."""
        work = self.work
        if self.data is not None and self.result is not None:
            work.data, work.result = self.data, self.result
            work.fixed += self.made
            work.tried.clear()
        else:
            work.tried.update(map(key_of, self.refused))
        for finding in self.made:
            work.refused.pop(key_of(finding), None)
        work.refused.update((key_of(finding), finding) for finding in self.refused)


def _every(_data: bytes, _finding: Finding) -> bool:
    return True


def key_of(finding: Finding) -> tuple[str, str]:
    """The identity of a finding, which survives changes of the text around it."""
    return finding.rule, finding.fingerprint


def compatible(text: str, findings: Iterable[Finding]) -> list[Finding]:
    """The fixes that can be applied together: one that overlaps with an earlier one is left out."""
    places = Places(text)
    taken: list[_Range] = []
    chosen = []
    for finding in findings:
        ranges = _ranges(places, finding)
        if all(_fits(own, taken) for own in ranges):
            chosen.append(finding)
            for own in ranges:
                place = bisect_left(taken, own)
                if place == len(taken) or taken[place] != own:
                    taken.insert(place, own)
    return chosen


def applied(text: str, findings: Iterable[Finding]) -> str:
    """The text after these fixes. An edit that several fixes share is made once."""
    return edited(text, (edit for finding in findings if finding.fix for edit in finding.fix.edits))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap; equal ones are made once."""
    places = Places(text)
    parts: list[str] = []
    position = 0
    for start, end, new in sorted({_range(places, edit) for edit in edits}):
        # Positions of edits are those of the text with LF for a CR that ends a line alone.
        parts += [text[position:start], new.replace("\n", "\r") if "\r" in text and "\n" not in text else new]
        position = end
    return "".join([*parts, text[position:]])


def _ranges(places: Places, finding: Finding) -> list[_Range]:
    assert finding.fix is not None
    return [_range(places, edit) for edit in finding.fix.edits]


def _range(places: Places, edit: Edit) -> _Range:
    return (*places.offsets(edit.span), edit.text)


def _fits(own: _Range, taken: list[_Range]) -> bool:
    """Whether an edit equals one of those taken, or overlaps with none of them."""
    place = bisect_left(taken, own)
    if place < len(taken) and taken[place] == own:
        return True
    return not any(_overlap(own, other) for other in taken[max(place - 1, 0) : place + 1])


def _overlap(one: _Range, other: _Range) -> bool:
    if one[:2] == other[:2]:
        return True  # two insertions at one position, or two texts for one range
    return one[0] < other[1] and other[0] < one[1]


def _is_sound(changed: str, before: str) -> bool:
    """Whether the new text compiles if the old one does, and has the same cells if it is a notebook. Nothing is run."""
    cells = Cells.of(before)
    if cells is None:
        return compiles(changed) or not compiles(before)
    now = Cells.of(changed)
    if now is None or not cells.is_kept_by(changed):
        return False
    old, new = cells.sources(), now.sources()
    pairs = ((new[number], source) for number, source in old.items() if new[number] != source)
    return all(compiles(after, _AWAIT) or not compiles(source, _AWAIT) for after, source in pairs)


def compiles(text: str, flags: int = 0) -> bool:
    """Whether Python accepts the text as a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return False
    return True


def _errors(result: FileResult) -> Counter[str]:
    """The number of error findings of each rule; a file that cannot be parsed counts as one."""
    return Counter(f.rule for f in result.findings if f.severity is Severity.ERROR or f.rule == SYNTAX_ERROR)
