"""The tables of lines and of warnings, in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torchlint.model import Severity
from truth.lines import Line
from truth.reasons import Key, Reason
from truth.verdicts import Judged

FOUND, INFO, INTENT, MISSED = "found", "at info", "silent by intent", "missed"
OUTCOMES = (FOUND, INFO, INTENT, MISSED)
UNREAD = "not read yet"


@dataclass(frozen=True)
class Result:
    """A line of the truth with its outcome, the rule about it, and the cause where it is silent."""

    line: Line
    outcome: str
    rule: str
    cause: str


def results(lines: Sequence[Line], reasons: Mapping[Key, Reason]) -> list[Result]:
    """The outcome of each line; a line that several programs run counts once."""
    unique = {line.key: line for line in lines}
    return [_result(line, reasons.get(key)) for key, line in sorted(unique.items())]


def _result(line: Line, reason: Reason | None) -> Result:
    if line.finding is not None:
        outcome = INFO if line.finding.severity is Severity.INFO else FOUND
        return Result(line, outcome, line.finding.rule, "")
    if reason is None:
        return Result(line, MISSED, "unknown", UNREAD)
    return Result(line, INTENT if reason.intent else MISSED, reason.rule, reason.cause)


def by_rule(found: Sequence[Result]) -> str:
    """A row for each rule."""
    return _table("rule", found, lambda result: result.rule)


def by_cause(found: Sequence[Result]) -> str:
    """A row for each cause of silence."""
    silent = Counter((result.outcome, result.cause) for result in found if result.cause)
    rows = ["| lines | | cause |", "| --- | --- | --- |"]
    ordered = sorted(silent.items(), key=lambda item: (item[0][0] != MISSED, -item[1], item[0]))
    return "\n".join(rows + [f"| {count} | {outcome} | {cause} |" for (outcome, cause), count in ordered])


def _table(title: str, found: Sequence[Result], key: Callable[[Result], str]) -> str:
    rows = [f"| {title} | lines | {' | '.join(OUTCOMES)} |", f"| --- | --- |{' --- |' * len(OUTCOMES)}"]
    names = sorted({key(result) for result in found})
    rows += [_row(name, [result for result in found if key(result) == name]) for name in names]
    rows.append(_row("all", found))
    return "\n".join(rows)


def _row(name: str, found: Sequence[Result]) -> str:
    counts = Counter(result.outcome for result in found)
    return f"| {name} | {len(found)} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES)} |"


def of_warnings(judged: Sequence[Judged], reasons: Mapping[Key, Reason]) -> str:
    """A row for each rule: what the runs show about its warnings, and whether a refutation is explained."""
    confirmed, refuted = settled(judged)
    rows = ["| rule | warnings reached | confirmed | refuted | without a reason |", "| --- | --- | --- | --- | --- |"]
    for name in sorted({key[3] for key in (*confirmed, *refuted)}):
        mine = [key for key in refuted if key[3] == name]
        sure = sum(key[3] == name for key in confirmed)
        bare = sum(key not in reasons for key in mine)
        rows.append(f"| {name} | {sure + len(mine)} | {sure} | {len(mine)} | {bare} |")
    return "\n".join(rows)


def settled(judged: Sequence[Judged]) -> tuple[dict[Key, Judged], dict[Key, Judged]]:
    """The warnings that some run confirms, and those that runs only refute."""
    confirmed = {one.key: one for one in judged if one.verdict.status.value == "confirmed"}
    refuted = {one.key: one for one in judged if one.key not in confirmed}
    return confirmed, refuted
