"""Findings of what following the programs has seen in a step, and no rule has reported from the syntax tree."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.knowledge.forms import COPY, FORMS, READ, REPEATED, RETURNING, Form, rules_about
from torchlint.knowledge.transfers import INTENT
from torchlint.model import Finding, Fix, Span
from torchlint.project.cost import is_costly
from torchlint.project.followed import ONCE, FollowedEvent, Range
from torchlint.run.linting.fronts import Fronts
from torchlint.run.linting.told import Told, copies
from torchlint.text.columns import of_bytes

if TYPE_CHECKING:
    from torchlint.rule import Rule

_BY_KEY = {form.key: form for form in FORMS}
_ABOUT = ("TL1", "TL2", "TL3")  # rules about copies and synchronizations
_WAITS = ("TL201", "TL204", "TL301", "TL302", "TL303", "TL304", "TL306", "TL307")
_BESIDES = ("TL103", "TL104", "TL204", "TL205")  # that are told beside others of their line
# Those of them that are about copies: a finding about a wait says nothing of what its line copies besides.
_COPIES = ("TL1", "TL2", *(name for form in FORMS if form.kind == COPY for name in form.rules))


def reporting(event: FollowedEvent, enabled: Mapping[str, type[Rule]]) -> type[Rule] | None:
    """The rule that reports an event: the first enabled one of those that are about it."""
    form = _BY_KEY.get(event.form)
    if form is None:
        return None
    about = rules_about(form, event.origin)
    names = (*REPEATED, *about) if form.kind == READ and event.loops else about
    if event.is_round_trip:
        names = (*RETURNING, *names) if event.phase != ONCE else RETURNING
    return next((enabled[name] for name in names if name in enabled), None)


def findings(
    events: Sequence[FollowedEvent],
    path: str,
    text: str,
    rules: Sequence[type[Rule]],
    said: Collection[Finding],
    contradicted: Collection[Range],
    fixes: Mapping[Range, Fix],
) -> list[Finding]:
    """A finding for each line with an event that an enabled rule is about, unless something is ``said`` there.

    A copy beside a wait on the same line gets a finding of its own. What happens right behind is shown with it, and
    what the same is to be done about in the same function. A run shows what happens at which expression, so that a line
    can have a finding for each of them. ``path`` and ``text`` are those of the file, ``contradicted`` the places where
    it shows that nothing happens, and ``fixes`` what rules make of places.
    """
    from torchlint.text.lines import split_lines

    lines = split_lines(text)
    enabled = {rule.id: rule for rule in rules}
    told: list[Finding | Told] = [finding for finding in said if finding.rule.startswith(_ABOUT)]
    covered, copied = (
        {line for finding in said if finding.rule.startswith(about) for line in _lines(finding)}
        for about in (_WAITS, _COPIES)
    )
    together: dict[Hashable, Told] = {}
    fronts = Fronts(events, lines)
    taken_back = set(_taken_back(events)) if enabled.keys() & set(RETURNING) else set()
    others: dict[str, set[int]] = {name: set() for name in _BESIDES}
    trips = {line for finding in said if finding.rule in RETURNING for line in _lines(finding)}
    costly = {(copies(event), event.place[0]) for event in events if is_costly(event)}
    for event in fronts.in_order():
        form, rule = _BY_KEY.get(event.form), reporting(event, enabled)
        first, end = event.place[0], event.place[2]
        if form is None or rule is None or end > len(lines) or (event.place in contradicted and not event.seen):
            continue
        if form.kind == READ and first in taken_back and not event.is_round_trip:
            continue
        if event.is_round_trip and _is_meant(lines[event.statement[0] - 1 : event.statement[1]]):
            continue
        if not is_costly(event) and (copies(event), first) in costly:
            continue  # what costs more on the line is told
        span, lines_there = _span(event, lines), range(first, end + 1)
        marked = others.get(rule.id, copied if copies(event) else covered)
        silent = (trips if event.is_round_trip else marked).isdisjoint(lines_there)
        if not silent and (not event.seen or any(_says(one, form, span) for one in told)):
            fronts.add_to_line(event, rule)
            continue
        marked.add(first)
        trips.update(lines_there if event.is_round_trip else ())
        one = Told(rule, form, event, span)
        if (front := fronts.of(one)) is not None:
            one = front.with_neighbour(one)
        elif (alike := together.setdefault(one.alike or one, one)) is not one:
            one = alike.with_more(one)
        else:
            told.append(one)
        fronts.tell(event, one)
    return [one.finding(path, lines, fixes) for one in told if isinstance(one, Told)]


def _says(finding: Finding | Told, form: Form, span: Span) -> bool:
    """Whether a finding says of an expression, or of one in or around it, that it copies or waits like this form."""
    if not (finding.rule if isinstance(finding, Finding) else finding.reports.id).startswith(
        _COPIES if form.kind == COPY else _WAITS
    ):
        return False
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    own = finding.span
    return ((own.line, own.column) < end and start < (own.end_line, own.end_column)) or any(
        start <= (evidence.line, evidence.column) < end for evidence in finding.evidence
    )


def _taken_back(events: Sequence[FollowedEvent]) -> Iterator[int]:
    """The lines of this file from which a copy to the device takes a value back that they have read."""
    for event in events:
        path, line = event.other
        if event.is_round_trip and not path and copies(event):
            yield line


def _is_meant(lines: Sequence[str]) -> bool:
    """Whether a comment gives a reason for a round trip."""
    comments = " ".join(line.partition("#")[2] for line in lines).lower()
    return any(word in comments for word in INTENT)


def _lines(finding: Finding) -> Iterator[int]:
    yield from range(finding.span.line, finding.span.end_line + 1)
    yield from (evidence.line for evidence in finding.evidence)


def _span(event: FollowedEvent, lines: Sequence[str]) -> Span:
    first, column, last, end = event.place
    return Span(first, of_bytes(lines[first - 1].encode(), column), last, of_bytes(lines[last - 1].encode(), end))
