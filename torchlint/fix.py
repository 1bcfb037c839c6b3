"""Fixes: which are applied together, what the text is afterwards, and the proof that it is still a program."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torchlint.decode import DecodeProblem, decode, encode
from torchlint.model import SYNTAX_ERROR, FileResult, Finding, Safety, Severity
from torchlint.text import Places

ROUNDS = 10
Lint = Callable[[bytes], FileResult]
_Range = tuple[int, int, str]


class Repaired(NamedTuple):
    """What became of one file: its bytes, the findings that are left, and those that were repaired.

    ``refused`` holds the findings whose fix would have broken the file, ``problem`` why nothing could be done.
    """

    data: bytes
    result: FileResult
    fixed: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()
    problem: str | None = None


def offered(findings: Iterable[Finding], allowed: Safety) -> list[Finding]:
    """The findings with a fix that may be applied."""
    return [f for f in findings if f.fix is not None and allowed in (f.fix.safety, Safety.UNSAFE)]


def repair(data: bytes, result: FileResult, lint: Lint, allowed: Safety) -> Repaired:
    """Apply the fixes of one file, round by round, until none is left.

    ``result`` is what linting ``data`` gave, ``lint`` lints the same file with other content.
    """
    work = _Work(data, result, lint)
    try:
        for _ in range(ROUNDS):
            if not work.round(allowed):
                break
    except DecodeProblem as problem:
        return Repaired(data, result, problem=problem.message)
    return Repaired(work.data, work.result, tuple(work.fixed), tuple(work.refused))


@dataclass
class _Work:
    """One file while it is repaired."""

    data: bytes
    result: FileResult
    lint: Lint
    fixed: list[Finding] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)

    def round(self, allowed: Safety) -> bool:
        """Apply as many fixes as go together. False when there is nothing to do."""
        known = {(f.rule, f.fingerprint) for f in self.refused}
        candidates = [f for f in offered(self.result.findings, allowed) if (f.rule, f.fingerprint) not in known]
        if not candidates:
            return False
        text = decode(self.data)
        chosen = compatible(text, candidates)
        if not self._accept(text, chosen):
            self._one_by_one(text, chosen)
        return True

    def _accept(self, text: str, chosen: Sequence[Finding]) -> bool:
        """Apply fixes together, if what comes out is a program without new errors."""
        changed = applied(text, chosen)
        if not _compiles_like(changed, text):
            return False
        data = encode(changed, self.data)
        result = self.lint(data)
        if result.problems or _errors(result) - _errors(self.result):
            return False
        self.data, self.result = data, result
        self.fixed += chosen
        return True

    def _one_by_one(self, text: str, chosen: Sequence[Finding]) -> None:
        """One of them breaks something: apply the first that does not, and refuse those before it."""
        for finding in chosen:
            if self._accept(text, [finding]):
                return
            self.refused.append(finding)


def compatible(text: str, findings: Iterable[Finding]) -> list[Finding]:
    """The fixes that can be applied together: each is left out that overlaps with an earlier one."""
    places = Places(text)
    taken: list[_Range] = []
    chosen = []
    for finding in findings:
        ranges = _ranges(places, finding)
        if all(_fits(own, taken) for own in ranges):
            chosen.append(finding)
            taken = sorted({*taken, *ranges})
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
