"""Fixes: which are applied together, what the text is afterwards, and the proof that it is still a program."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torchlint.base import limits
from torchlint.model import SYNTAX_ERROR, FileResult, Finding, Safety, Severity
from torchlint.text.decode import DecodeProblem, decode, encode
from torchlint.text.lines import Places

ROUNDS = 10
Lint = Callable[[bytes], FileResult]
_Range = tuple[int, int, str]


class Repaired(NamedTuple):
    """What became of one file: its bytes, the findings that are left, and those that were repaired.

    ``refused`` holds the findings whose fix would have broken the file, ``problem`` why nothing could be done,
    ``exhausted`` whether fixes were left untried because the others took too long.
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
    data: bytes, result: FileResult, lint: Lint, allowed: Safety, budget: limits.Budget | None = None
) -> Repaired:
    """Apply the fixes of one file, round by round, until none is left, or the budget is spent.

    ``result`` is what linting ``data`` gave, ``lint`` lints the same file with other content; it may raise
    :class:`~torchlint.base.limits.Exhausted`.
    """
    work = _Work(data, result, lint, budget or limits.Budget(0))
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
    """One file while it is repaired. ``refused`` are fixes by rule and fingerprint, ``tried`` those of this text."""

    data: bytes
    result: FileResult
    lint: Lint
    budget: limits.Budget
    fixed: list[Finding] = field(default_factory=list)
    refused: dict[tuple[str, str], Finding] = field(default_factory=dict)
    tried: set[tuple[str, str]] = field(default_factory=set)

    def round(self, allowed: Safety) -> bool:
        """Apply as many fixes as go together. False when there is nothing to do.

        What an earlier round refused is tried once more where others have changed the text since: so a second run
        finds nothing to do.
        """
        candidates = [f for f in offered(self.result.findings, allowed) if key_of(f) not in self.tried]
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
    """The fixes of one round: ``made`` go together, and ``data`` and ``result`` are what they give."""

    work: _Work
    text: str
    before: FileResult
    made: list[Finding] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    data: bytes | None = None
    result: FileResult | None = None

    def make(self, fixes: Sequence[Finding]) -> None:
        """Make these fixes beside those that are made; where some break the file, halve until these are found."""
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
        """Make all of these, if what comes out is a program without new errors."""
        changed = applied(self.text, fixes)
        if not _compiles_like(changed, self.text):
            return False
        data = encode(changed, self.work.data)
        result = self.work.lint(data)
        if result.problems or _errors(result) - _errors(self.before):
            return False
        self.made, self.data, self.result = fixes, data, result
        return True

    def keep(self) -> None:
        """Note what was made and what was refused, also where the budget ended the round early."""
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


def key_of(finding: Finding) -> tuple[str, str]:
    """What stays the same of a finding while the text around it changes."""
    return finding.rule, finding.fingerprint


def compatible(text: str, findings: Iterable[Finding]) -> list[Finding]:
    """The fixes that can be applied together: each is left out that overlaps with an earlier one."""
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
    """The text after these fixes. An edit that several of them need is made once."""
    places = Places(text)
    parts: list[str] = []
    position = 0
    for start, end, new in sorted({r for finding in findings for r in _ranges(places, finding)}):
        # Whoever makes an edit sees LF for a CR that ends a line alone.
        parts += [text[position:start], new.replace("\n", "\r") if "\r" in text and "\n" not in text else new]
        position = end
    return "".join([*parts, text[position:]])


def _ranges(places: Places, finding: Finding) -> list[_Range]:
    assert finding.fix is not None
    return [(*places.offsets(edit.span), edit.text) for edit in finding.fix.edits]


def _fits(own: _Range, taken: list[_Range]) -> bool:
    """The edit is one of those taken, or touches none of them."""
    place = bisect_left(taken, own)
    if place < len(taken) and taken[place] == own:
        return True
    return not any(_overlap(own, other) for other in taken[max(place - 1, 0) : place + 1])


def _overlap(one: _Range, other: _Range) -> bool:
    if one[:2] == other[:2]:
        return True  # two insertions at one place, or two texts for one
    return one[0] < other[1] and other[0] < one[1]


def _compiles_like(changed: str, before: str) -> bool:
    """What Python compiled before it still compiles. Nothing is run."""
    return compiles(changed) or not compiles(before)


def compiles(text: str) -> bool:
    """Python accepts the text as a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return False
    return True


def _errors(result: FileResult) -> Counter[str]:
    """How many findings of each rule are errors; a file that cannot be read at all is one."""
    return Counter(f.rule for f in result.findings if f.severity is Severity.ERROR or f.rule == SYNTAX_ERROR)
