"""Findings of what was seen in a step, and no rule has reported from the syntax tree."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.groups import PREVIEW, group_of
from torchlint.knowledge.forms import COPY, FORMS, READ, Form
from torchlint.model import Evidence, Finding, Heat, Severity, Span
from torchlint.project.followed import ASSUMED, SAMPLING, FollowedEvent, Range, made_by
from torchlint.run.linting.repairs import repair
from torchlint.text.columns import of_bytes

if TYPE_CHECKING:
    from torchlint.rule import Rule

_BY_KEY = {form.key: form for form in FORMS}
_ABOUT = ("TL1", "TL2", "TL3")  # rules about copies and synchronizations
_ROUND_TRIP = "TL201"
_WAITS = ("TL201", "TL204", "TL301", "TL302", "TL303", "TL304", "TL306")
# Those of them that are about copies: a finding about a wait says nothing of what its line copies besides.
_COPIES = ("TL1", "TL2", *(name for form in FORMS if form.kind == COPY for name in form.rules))


def findings(
    events: Sequence[FollowedEvent],
    path: str,
    text: str,
    rules: Sequence[type[Rule]],
    said: Collection[Finding],
    contradicted: Collection[Range],
    required: Collection[Range],
) -> list[Finding]:
    """A finding for each line with an event that an enabled rule is about, unless something is ``said`` there.

    A copy beside a wait on the same line gets a finding of its own. What happens right behind is shown with it. A run
    shows what happens at which expression, so that a line can have a finding for each of them. ``path`` and ``text``
    are those of the file, ``contradicted`` the places where it shows that nothing happens, and ``required`` those of
    reads that the host needs.
    """
    from torchlint.text.lines import split_lines

    lines = split_lines(text)
    enabled = {rule.id: rule for rule in rules}
    said_there = [finding for finding in said if finding.rule.startswith(_ABOUT)]
    told = list(said_there)
    covered, copied, trips = (
        {line for finding in told if finding.rule.startswith(about) for line in _lines(finding)}
        for about in (_ABOUT, _COPIES, _ROUND_TRIP)
    )
    taken_back = set(_taken_back(events)) if _ROUND_TRIP in enabled else set()
    last: FollowedEvent | None = None  # of the finding that was made last
    for event in events:
        form = _BY_KEY.get(event.form)
        first, end = event.place[0], event.place[2]
        if form is not None and first in taken_back and form.kind == READ and not event.is_round_trip:
            continue
        if form is None or end > len(lines) or (event.place in contradicted and not event.seen):
            continue
        span, lines_there = _span(event, lines), range(first, end + 1)
        lines_said = trips if event.is_round_trip else copied if form.kind == COPY else covered
        silent = lines_said.isdisjoint(lines_there)
        if not silent and (not event.seen or any(_says(one, form, span) for one in told)):
            continue
        about = (_ROUND_TRIP, *form.rules) if event.is_round_trip else form.rules
        rule = next((enabled[name] for name in about if name in enabled), None)
        if rule is None:
            continue
        covered.add(first)
        trips.update(lines_there if rule.id == _ROUND_TRIP else ())
        if rule.id.startswith(_COPIES):
            copied.add(first)
        if last is not None and _is_behind(last, event, lines):
            told[-1] = told[-1]._replace(evidence=(*told[-1].evidence, _neighbour(event, span)))
        else:
            made = _finding(rule, form, event, path, span, lines)
            told.append(made._replace(severity=Severity.INFO) if event.place in required else made)
        last = event
    return told[len(said_there) :]


def _taken_back(events: Sequence[FollowedEvent]) -> Iterator[int]:
    """The lines of this file from which a copy to the device takes a value back that they have read."""
    for event in events:
        path, line = event.other_copy
        if event.is_round_trip and not path and _BY_KEY[event.form].kind == COPY:
            yield line


def _is_behind(one: FollowedEvent, other: FollowedEvent, lines: Sequence[str]) -> bool:
    """Whether the host has just waited when it comes to the other one, so that this costs little.

    They are in one statement, or nothing is between their statements, and they happen equally often.
    """
    if one.seen or other.seen or other.is_round_trip or _how_often(one) != _how_often(other):
        return False
    between = lines[one.statement[1] : other.statement[0] - 1]
    indents = {len(lines[at - 1]) - len(lines[at - 1].lstrip()) for at in (one.statement[0], other.statement[0])}
    return len(indents) == 1 and all(not line.strip() or line.lstrip().startswith("#") for line in between)


def _how_often(event: FollowedEvent) -> Hashable:
    return _BY_KEY[event.form].kind == COPY, event.phase, event.option, event.way, event.loops


def _neighbour(event: FollowedEvent, span: Span) -> Evidence:
    return Evidence(span.line, span.column, f"{event.what}, right behind, which costs little by itself")


def _says(finding: Finding, form: Form, span: Span) -> bool:
    """Whether a finding says of an expression, or of one in or around it, that it copies or waits like this form."""
    if not finding.rule.startswith(_COPIES if form.kind == COPY else _WAITS):
        return False
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    own = finding.span
    return ((own.line, own.column) < end and start < (own.end_line, own.end_column)) or any(
        start <= (evidence.line, evidence.column) < end for evidence in finding.evidence
    )


def _lines(finding: Finding) -> Iterator[int]:
    yield from range(finding.span.line, finding.span.end_line + 1)
    yield from (evidence.line for evidence in finding.evidence)


def _finding(
    rule: type[Rule], form: Form, event: FollowedEvent, path: str, span: Span, lines: Sequence[str]
) -> Finding:
    from torchlint.rule import topic_of

    return Finding(
        rule=rule.id,
        name=rule.name,
        topic=topic_of(rule),
        severity=_severity(rule, event),
        path=path,
        span=span,
        message=_message(form, event, path),
        heat=Heat.STEP,
        evidence=tuple(_evidence(event, path, lines)),
        statement=event.statement,
        step=made_by(event.way),
    )


def _severity(rule: type[Rule], event: FollowedEvent) -> Severity:
    """What it costs decides: a warning where a normal run pays for it in every step of a training or a sampler."""
    if event.seen:
        return rule.severity
    return Severity.WARNING if event.is_costly and group_of(rule) != PREVIEW else Severity.INFO


def _message(form: Form, event: FollowedEvent, path: str) -> str:
    every = {
        "training": "in every training step",
        "inference": "in every step of inference",
        SAMPLING: "in every step of decoding or sampling",
    }
    when = every.get(event.phase, "in every step") if event.way else "in every step"
    waits = f"the host waits here for the device {when}"
    effect = f"data is copied to the device {when}, while the host waits" if form.kind == COPY else waits
    own = path.replace("\\", "/")
    step = made_by(event.way)
    loops = " and each of ".join(f"`{over}`" for over in event.loops if over)
    advice, came = repair(form, event), _came(form, event)
    return "".join(
        [
            f"{event.what}: {effect}",
            f" (the loop in {step[0]}:{step[1]})" if step is not None and step[0] != own else "",
            f", for each of {loops}" if loops else "",
            f", and {came}" if came else "",
            f": {advice}" if advice else "",
            " (if this runs in a step)" if event.phase == ASSUMED else "",
            f" (only with `{event.option}`)" if event.option and " " not in event.option else "",
            f" (only {event.option})" if " " in event.option else "",
        ]
    )


def _came(form: Form, event: FollowedEvent) -> str:
    """Where a value has been, if it takes a round trip."""
    path, line = event.other_copy
    place = f"{path}:{line}" if path else "this line" if line == event.place[0] else f"line {line}"
    if not event.is_round_trip:
        return ""
    read = f"what is copied was read from the device on {place}"
    return read if form.kind == COPY else f"what is read was copied there, unchanged, on {place}"


def _evidence(event: FollowedEvent, path: str, lines: Sequence[str]) -> Iterator[Evidence]:
    """The places of this file on the way from the step."""
    for at, line, name in event.way:
        if at == path.replace("\\", "/") and line <= len(lines):
            column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
            text = "the loop that makes the steps" if name == "step" else f"calls `{name}`"
            yield Evidence(line, column, text, context=True)
    path, line = event.other_copy
    if event.is_round_trip and not path and line <= len(lines) and line != event.place[0]:
        column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
        yield Evidence(line, column, "the value is copied the other way here")


def _span(event: FollowedEvent, lines: Sequence[str]) -> Span:
    first, column, last, end = event.place
    return Span(first, of_bytes(lines[first - 1].encode(), column), last, of_bytes(lines[last - 1].encode(), end))
