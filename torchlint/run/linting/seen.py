"""Findings of what was seen in a step, and no rule has reported from the syntax tree."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.knowledge.forms import COPY, FORMS, Form
from torchlint.model import Evidence, Finding, Heat, Severity, Span
from torchlint.project.followed import ASSUMED, FollowedEvent, Range, made_by
from torchlint.text.columns import of_bytes

if TYPE_CHECKING:
    from torchlint.rule import Rule

_BY_KEY = {form.key: form for form in FORMS}
_ABOUT = ("TL1", "TL2", "TL3")  # rules about copies and synchronizations
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
) -> Iterator[Finding]:
    """A finding for each line with an event that an enabled rule is about, unless something is ``said`` there.

    A copy beside a wait on the same line gets a finding of its own. A run shows what happens at which expression, so
    that a line can have a finding for each of them. ``path`` and ``text`` are those of the file, ``contradicted`` the
    places where it shows that nothing happens.
    """
    from torchlint.text.lines import split_lines

    lines = split_lines(text)
    enabled = {rule.id: rule for rule in rules}
    told = [finding for finding in said if finding.rule.startswith(_ABOUT)]
    covered, copied = (
        {line for finding in told if finding.rule.startswith(about) for line in _lines(finding)}
        for about in (_ABOUT, _COPIES)
    )
    for event in events:
        form = _BY_KEY.get(event.form)
        first, last = event.place[0], event.place[2]
        if form is None or last > len(lines) or (event.place in contradicted and not event.seen):
            continue
        span, lines_there = _span(event, lines), range(first, last + 1)
        silent = (copied if form.kind == COPY else covered).isdisjoint(lines_there)
        if not silent and (not event.seen or any(_says(one, form, span) for one in told)):
            continue
        rule = next((enabled[name] for name in form.rules if name in enabled), None)
        if rule is not None:
            covered.add(first)
            if rule.id.startswith(_COPIES):
                copied.add(first)
            told.append(_finding(rule, form, event, path, span, lines))
            yield told[-1]


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
        severity=rule.severity if event.seen else Severity.INFO,
        path=path,
        span=span,
        message=_message(form, event, path),
        heat=Heat.STEP,
        evidence=tuple(_evidence(event, path, lines)),
        statement=event.statement,
        step=made_by(event.way),
    )


def _message(form: Form, event: FollowedEvent, path: str) -> str:
    every = {"training": "in every training step", "inference": "in every step of inference"}
    when = every.get(event.phase, "in every step") if event.way else "in every step"
    waits = f"the host waits here for the device {when}"
    effect = f"data is copied to the device {when}, while the host waits" if form.kind == COPY else waits
    own = path.replace("\\", "/")
    step = made_by(event.way)
    return "".join(
        [
            f"{event.what}: {effect}",
            f" (the loop in {step[0]}:{step[1]})" if step is not None and step[0] != own else "",
            f": {form.advice}" if form.advice else "",
            " (if this runs in a step)" if event.phase == ASSUMED else "",
            f" (only with `{event.option}`)" if event.option and " " not in event.option else "",
            f" (only {event.option})" if " " in event.option else "",
        ]
    )


def _evidence(event: FollowedEvent, path: str, lines: Sequence[str]) -> Iterator[Evidence]:
    """The places of this file on the way from the step."""
    for at, line, name in event.way:
        if at == path.replace("\\", "/") and line <= len(lines):
            column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
            text = "the loop that makes the steps" if name == "step" else f"calls `{name}`"
            yield Evidence(line, column, text, context=True)


def _span(event: FollowedEvent, lines: Sequence[str]) -> Span:
    first, column, last, end = event.place
    return Span(first, of_bytes(lines[first - 1].encode(), column), last, of_bytes(lines[last - 1].encode(), end))
