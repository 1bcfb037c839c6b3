"""What a finding says of what following the programs has seen: in which words, how severe, with what beside it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.groups import PREVIEW, group_of
from torchlint.knowledge.forms import ASYNCHRONOUS, COPY, EARLY, PAGEABLE, READ_EARLY, WRITTEN_EARLY, Form
from torchlint.model import Evidence, Finding, Fix, Heat, Severity, Span
from torchlint.project.cost import is_costly
from torchlint.project.followed import (
    ASSUMED,
    BATCHES,
    HOT,
    ONCE,
    SAME,
    SELDOM,
    FollowedEvent,
    Range,
    hot_root,
    made_by,
)
from torchlint.run.linting.repairs import place_of, repair, unpinned

if TYPE_CHECKING:
    from torchlint.rule import Rule

_SHOWN = 60  # characters of an expression in a message


class Told:
    """An event that a rule reports, and further ones that are shown with it."""

    def __init__(self, rule: type[Rule], form: Form, event: FollowedEvent, span: Span) -> None:
        self.reports, self.form, self.event, self.span = rule, form, event, span
        self.evidence: list[Evidence] = []
        self._waits = 1
        self._mended = [event.place]

    @property
    def alike(self) -> Hashable:
        """What waits have in common about which the same is to be done in a function; None for what stands alone."""
        if self.form.kind == COPY or not self.event.way or self.event.is_round_trip or not self._advice:
            return None
        return self.reports, self._severity, how_often(self.event), self._advice

    def with_more(self, other: Told) -> Told:
        """The same with another wait, about which the same is to be done."""
        self._waits += 1
        self._mended.append(other.event.place)
        self.evidence.append(Evidence(other.span.line, other.span.column, f"{other.event.what} waits too"))
        return self

    def with_neighbour(self, other: Told) -> Told:
        """The same with what happens right behind it, or behind a wait that is shown with it."""
        if other.reports is self.reports:
            self._mended.append(other.event.place)
        what = f"{other.event.what}, right behind, which costs little by itself"
        self.evidence.append(Evidence(other.span.line, other.span.column, what))
        return self

    def mends_too(self, event: FollowedEvent) -> None:
        """Its fix is also that of another event of its line."""
        self._mended.append(event.place)

    def finding(self, path: str, lines: Sequence[str], fixes: Mapping[Range, Fix]) -> Finding:
        """The finding, in a file with these lines; ``fixes`` are those of places."""
        from torchlint.rule import topic_of

        return Finding(
            rule=self.reports.id,
            name=self.reports.name,
            topic=topic_of(self.reports),
            severity=self._severity,
            path=path,
            span=self.span,
            message=self._message(path, lines),
            heat=Heat.ONCE if self.event.phase in (ONCE, SELDOM) else Heat.STEP,
            evidence=(*_way(self.event, path, lines), *self.evidence),
            fix=_together([fixes[place] for place in self._mended if place in fixes]),
            statement=self.event.statement,
            step=made_by(self.event.way),
        )

    @property
    def _severity(self) -> Severity:
        """What it costs decides: a warning where a normal run pays for it in each step of a training or a sampler."""
        if self.event.seen or self.form.kind == EARLY:
            return self.reports.severity
        wrong = self.form is PAGEABLE or (self.event.is_round_trip and self.event.phase == ONCE)
        if wrong and self.event.origin != SAME:
            usual = not self.event.option and self.event.phase not in (ASSUMED, SELDOM) and self.event.origin != "few"
            return Severity.WARNING if usual else Severity.INFO
        return Severity.WARNING if is_costly(self.event) and group_of(self.reports) != PREVIEW else Severity.INFO

    @property
    def _advice(self) -> str:
        return repair(self.form, self.event)

    def _message(self, path: str, lines: Sequence[str]) -> str:
        event = self.event
        when = f" {event.when}" if event.when else ""
        step, hot, own = made_by(event.way), hot_root(event.way), path.replace("\\", "/")
        loops = " and each of ".join(f"`{over}`" for over in event.loops if over)
        return "".join(
            [
                self._effect(self._written(lines), when),
                f" (`{hot}` is configured as hot)" if hot else "",
                f" (the loop in {step[0]}:{step[1]})" if step is not None and not hot and step[0] != own else "",
                f", for each of {loops}" if loops else "",
                f" ({self._waits} such waits)" if self._waits > 1 else "",
                f", and {self._came}" if event.is_round_trip else "",
                f": {self._advice}" if self._advice else "",
                " (in programs that call this)" if event.phase == ASSUMED else "",
                f" (only with `{event.option}`)" if event.option and " " not in event.option else "",
                f" (only {event.option})" if " " in event.option else "",
                " (not in every step)" if event.phase == SELDOM else "",
            ]
        )

    def _effect(self, written: str, when: str) -> str:
        """What happens, and how often."""
        if self.form.kind == EARLY:
            return f"{written} before anything waits for the device, so the values may be wrong"
        if self.event.origin == SAME:
            waits = ", while the host waits" if self.form is not ASYNCHRONOUS else ""
            return f"{self.event.what} never changes, but every step copies it to the device again{waits}"
        if self.form is PAGEABLE and not self.event.is_round_trip:
            small = ": with more than 64 KB," if self.event.origin in ("data", "few") else ", so"
            return f"{unpinned(self.event)}{small} the host waits for this copy{when} despite `non_blocking=True`"
        if self.form.kind == COPY:
            return f"{written}: data is copied to the device{when}, while the host waits"
        return f"{written}: the host waits here for the device{when}"

    @property
    def _came(self) -> str:
        """Where a value has been that takes a round trip."""
        here = self.event.other == ("", self.event.place[0])
        place = "this line" if here else place_of(self.event.other)
        if self.form.kind == COPY:
            return f"what is copied was read from the device on {place}"
        return f"what is read was copied there, unchanged, on {place}"

    def _written(self, lines: Sequence[str]) -> str:
        """The expression itself if it is short, and what it is if that does not show."""
        first, column, last, end = self.event.place
        code = lines[first - 1].encode()[column:end].decode() if first == last else ""
        if not code or len(code) > _SHOWN or self.form.kind in (COPY, EARLY):
            return self.event.what
        shows = any(part in self.form.written for part in ("(", "{}"))  # a call, which the expression itself is
        return f"`{code}`" if shows else f"`{code}`, {self.event.what}"


def _together(fixes: Sequence[Fix]) -> Fix | None:
    """One fix that does the same at several places, as safely."""
    alike = [fix for fix in fixes if (fix.title, fix.safety) == (fixes[0].title, fixes[0].safety)]
    return fixes[0]._replace(edits=tuple(edit for fix in alike for edit in fix.edits)) if fixes else None


def copies(event: FollowedEvent) -> bool:
    """Whether an event is a copy to the device."""
    return event.form.startswith(COPY)


def how_often(event: FollowedEvent) -> Hashable:
    """What is the same for two events that happen equally often."""
    return copies(event), event.phase, event.option, event.way, event.loops


def _way(event: FollowedEvent, path: str, lines: Sequence[str]) -> Iterator[Evidence]:
    """The places of this file on the way from the step."""
    for at, line, name in event.way:
        if at == path.replace("\\", "/") and line <= len(lines):
            column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
            text = "the loop that makes the steps" if name == "step" else f"calls `{name}`"
            text = "is configured as hot" if name.startswith(HOT) else text
            yield Evidence(line, column, text, context=True)
    path, line = event.other
    if line and not path and line <= len(lines) and line != event.place[0] and event.origin not in BATCHES:
        column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
        yield Evidence(line, column, _OTHER.get(event.form, "the value is copied the other way here"))


_OTHER = {
    PAGEABLE.key: "this is not pinned",
    READ_EARLY.key: "reads the copy",
    WRITTEN_EARLY.key: "writes what is copied",
}  # what another place is
