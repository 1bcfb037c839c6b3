"""Joins what recordings of runs show at lines with the findings there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.knowledge.observations import KINDS
from torchlint.model import FileResult, Finding, Observed, Recorded, Recording, RunResult

if TYPE_CHECKING:
    from torchlint.run.recorded.evidence import Evidence


class Joined(NamedTuple):
    """Findings with what was seen at their lines, and what was seen at lines without a finding about it."""

    findings: tuple[Finding, ...]
    unreported: tuple[Observed, ...]


def join(findings: Sequence[Finding], observations: Iterable[Observed]) -> Joined:
    """Give each finding what was seen at its lines and is of a kind that its topic is about.

    What no finding is at is given to those with evidence at its line, such as the other reads of a step. What may have
    happened at several lines is given to the findings at all of them, but to none at whose line that kind is certain.
    What happened somewhere in a function is given to none. Of several findings one has the time, so that times add up:
    that about the loader of a batch, as in verdicts, or else the gravest.
    """
    at: defaultdict[str, list[int]] = defaultdict(list)
    for number, finding in enumerate(findings):
        if finding.cell is None:
            at[finding.path].append(number)
    seen: defaultdict[int, list[Observed]] = defaultdict(list)
    unreported = []
    for one in sorted(observations, key=lambda one: len(one.lines)):
        able = [number for number in at[one.path] if _is_of_its_topic(findings[number], one)]
        about = [number for number in able if _is_at(_span(findings[number]), one)]
        about = [number for number in about if _is_around(findings[number], one)] or about
        loaders = [number for number in able if number not in about and _is_batch_of(findings[number], one)]
        about = about or [number for number in able if _is_at(_evidence(findings[number]), one)]
        free = [number for number in about if not any(_is_certain(other, one) for other in seen[number])]
        having = dict.fromkeys([*loaders[:1], *(free if one.lines else about)])
        gravest = min(having, key=lambda number: (-findings[number].severity.rank, number), default=None)
        paid = loaders[0] if loaders else gravest
        for number in having:
            seen[number].append(one if number == paid else _without_time(one))
        if not having:
            unreported.append(one)
    unreported.sort(key=lambda one: (-one.microseconds, -one.times, one.path, one.line))
    joined = (finding._replace(seen=tuple(seen[number])) for number, finding in enumerate(findings))
    return Joined(tuple(joined), tuple(unreported))


def with_observed(result: FileResult, data: bytes, evidence: Evidence | None) -> FileResult:
    """The result of linting the content of one file with what earlier runs have shown there."""
    if evidence is None:
        return result
    _, shown = evidence.seen_in([result.path], lambda _: data)
    return result._replace(findings=join(result.findings, shown).findings)


def with_recordings(run: RunResult, recordings: Iterable[Recording], observations: Iterable[Observed]) -> RunResult:
    """The result of a run with what recordings show."""
    joined = join(run.findings, observations)
    return run._replace(findings=joined.findings, recorded=Recorded(tuple(recordings), joined.unreported))


def _is_of_its_topic(finding: Finding, one: Observed) -> bool:
    kind = KINDS.get(one.kind)
    return kind is None or finding.topic in kind.topics


def _span(finding: Finding) -> Container[int]:
    return range(finding.span.line, finding.span.end_line + 1)


def _evidence(finding: Finding) -> Container[int]:
    return {evidence.line for evidence in finding.evidence}


def _is_around(finding: Finding, one: Observed) -> bool:
    """Whether the expression at which something was seen is one with that of a finding, or around or in it."""
    if one.columns is None:
        return True
    span, (first, last) = finding.span, one.columns
    return (span.line, span.column) < (one.line, last) and (one.line, first) < (span.end_line, span.end_column)


def _is_batch_of(finding: Finding, one: Observed) -> bool:
    """Whether a finding about a loader names the line as one at which its batches are copied to the device."""
    return finding.topic == "loading" and "upload" in one.kind and not one.lines and _is_at(_evidence(finding), one)


def _without_time(one: Observed) -> Observed:
    return one._replace(microseconds=0.0, idle_us=0.0, share=None)


def _is_at(lines: Container[int], one: Observed) -> bool:
    if one.function and not one.lines:
        return False
    return any(line in lines for line in one.lines or (one.line,))


def _is_certain(other: Observed, one: Observed) -> bool:
    return not other.lines and other.kind == one.kind
