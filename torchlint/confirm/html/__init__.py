"""The report of a run as one HTML file: the answer, costs with their fixes, the annotated source, and the steps."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from torchlint.confirm.html.cards import Card, cards, command
from torchlint.confirm.html.device import timeline
from torchlint.confirm.html.lines import Line, gutter, lines, shown_path
from torchlint.confirm.html.notes import facts, flags, per_step, profiled, spots, unseen, who
from torchlint.confirm.html.pictures import samples, segments, strip
from torchlint.confirm.html.words import counted, happened
from torchlint.confirm.places import Sources, real
from torchlint.confirm.result import Result
from torchlint.confirm.text import head
from torchlint.confirm.verdict import Status
from torchlint.model import RuleInfo, Span
from torchlint.report.html.files import ROOM, Annotated, Note, fitting, limited
from torchlint.report.html.pages import page, part
from torchlint.report.shared import plural

# The bytes of cards, and the events named at a line.
_CARDS, _EVENTS = 300_000, 6


def render(result: Result, rules: tuple[RuleInfo, ...]) -> str:
    """The page for a run."""
    hot = lines(result)
    sources = Sources(result.run.sources)
    paths = _paths(result, hot, sources)
    names = {path: f"f{number}" for number, path in enumerate(paths)}
    text = {path: sources.lines(path) for path in paths}
    made = cards(result, {rule.id: rule for rule in rules}, names, text)
    shown = limited([part("run-parts.html", "card", card) for card in made], _CARDS)
    room = ROOM - sum(len(html.encode()) for html in shown)
    confirmed = sum(card.kind == "confirmed" for card in made)
    found = result.answer
    return page(
        "run.html",
        title=found.sentences[0],
        head=head(result),
        answer=found,
        bar=segments(found),
        result=result,
        counts=_counts(result),
        confirmed=shown[:confirmed],
        others=shown[confirmed:],
        omitted=len(made) - len(shown),
        spots=spots(result, names),
        fitted=fitting([_file(path, names[path], text[path], made, hot, result) for path in paths], room),
        strip=strip(result.run, hot, names),
        samples=samples(result.run),
        per_step=per_step(result),
        profiled=profiled(result.run),
        timeline=timeline(result.run, result.order.base, names),
        flags=flags(result),
        unseen=unseen(result),
        who=who(result, hot),
        facts=facts(result),
        command=shlex.join(["torchlint", "confirm", "--on", result.run.mode, "--", *command(result.order)]),
    )


def _paths(result: Result, hot: Sequence[Line], sources: Sources) -> list[str]:
    """The files to show, the costliest first: those with findings, and those in which something happened."""
    weights: Counter[str] = Counter()
    for line in hot:
        weights[line.path] += int(line.weight)
    named = {real(finding.path, result.order.base): None for finding, _ in result.pairs}
    happening = {line.path: None for line in hot if line.rate}
    paths = [path for path in {**named, **happening} if sources.lines(path) or path in named]
    return sorted(paths, key=lambda path: -weights[path])


def _file(
    path: str, name: str, text: Sequence[str], made: Sequence[Card], hot: Sequence[Line], result: Result
) -> Annotated:
    own = [card for card in made if card.file == name]
    flagged = {number for card in own for number in range(card.finding.span.line, card.finding.span.end_line + 1)}
    notes = [_note(card) for card in own]
    here = [line for line in hot if line.path == path]
    notes += [_events(line) for line in here if line.number not in flagged and line.rate and line.events]
    return Annotated(
        id=name,
        path=shown_path(path, result.order.base),
        lines=text,
        notes=notes,
        head=plural(len(own), "finding") if own else "no findings",
        gutter={line.number: gutter(line) for line in here},
        never=frozenset(
            number
            for card in own
            if card.verdict.status is Status.NOT_REACHED
            for number in range(card.finding.span.line, card.finding.span.end_line + 1)
        ),
    )


def _note(card: Card) -> Note:
    marked = card.verdict.status is not Status.REFUTED
    return Note(card.finding.span, part("run-parts.html", "note", card), tuple(_evidence(card)), marked=marked)


def _evidence(card: Card) -> list[int]:
    return [evidence.line for evidence in card.finding.evidence]


def _events(line: Line) -> Note:
    """What happened at a line without a finding, folded."""
    summary = ", ".join(map(counted, line.events[:_EVENTS]))
    html = part("run-parts.html", "events", summary, list(map(happened, line.events[:_EVENTS])))
    return Note(Span(line.number, 1, line.number, 1), html, marked=False)


def _counts(result: Result) -> list[tuple[str, str]]:
    """How many findings have each verdict: the kind for the style, and the words."""
    counts = Counter(verdict.status for verdict in result.verdicts)
    return [(s.value.replace(" ", "-"), f"{counts[s]} {s.value}") for s in Status if counts[s]]
