"""What is told with a wait or a copy in front of it, because it costs little by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.knowledge.forms import ANYWHERE, BLOCKING, GENERATED, HOST_DATA
from torchlint.project.cost import is_costly, is_needed
from torchlint.project.followed import SAME, FollowedEvent
from torchlint.run.linting.told import Told, copies, how_often

if TYPE_CHECKING:
    from torchlint.rule import Rule

_MADE = (BLOCKING.key, HOST_DATA.key)
_ALONE = frozenset(form.key for form in ANYWHERE)


class Fronts:
    """Finds what is in front of the events of a file, in the order in which they are told."""

    def __init__(self, events: Sequence[FollowedEvent], lines: Sequence[str]) -> None:
        self._events, self._lines = events, lines
        self._waiting = {event.place[0] for event in events if not copies(event)}
        self._passed = {event.place[0]: event.behind for event in events if copies(event)}
        self._first: dict[int, tuple[str, int]] = {}  # what the first wait of a line is behind
        for event in events:
            if not copies(event) and event.behind != ("", event.place[0]):
                self._first.setdefault(event.place[0], event.behind)
        self._told: dict[int, Told] = {}  # the wait behind which what follows a line is
        self._at: dict[int, Told] = {}  # what is told of a line
        self._last: tuple[FollowedEvent, Told] | None = None  # copy

    def in_order(self) -> Iterator[FollowedEvent]:
        """The events: what a run has shown adds to the others, and waits are behind those in front of them."""
        left, done = sorted(self._events, key=lambda each: each.seen), set[int]()
        while left:
            after = self._waiting - done
            ready = [event for event in left if self._line(event) not in after] or left[:1]
            for event in ready:
                if not copies(event) and (front := self._told.get(self._line(event))) is not None:
                    self._told.setdefault(event.place[0], front)
                yield event
            done.update(event.place[0] for event in ready)
            left = [event for event in left if event not in ready]

    def of(self, one: Told) -> Told | None:
        """With what an event is told, if not by itself."""
        event = one.event
        if event.form in _ALONE or event.is_round_trip:
            return None
        if copies(event):
            last, told = self._last or (None, None)
            return told if last is not None and _are_adjacent(last, event, self._lines) else None
        front = self._told.get(self._line(event))
        return front if front is not None and _adds_little(event, front.event) else None

    def tell(self, event: FollowedEvent, one: Told) -> None:
        """An event is told, perhaps with another one."""
        self._at[event.place[0]] = one
        if copies(event):
            self._last = event, one
        elif not event.is_round_trip:
            self._told[event.place[0]] = one

    def add_to_line(self, event: FollowedEvent, rule: type[Rule]) -> None:
        """An event is not told, but mended with what its rule has told of the line."""
        one = self._at.get(event.place[0])
        if one is not None and one.reports is rule:
            one.mends_too(event)

    def _line(self, event: FollowedEvent) -> int:
        """The line of the wait of this file that an event is behind, perhaps with copies in between; 0 if none is."""
        (path, line), seen = event.behind if not copies(event) else ("", 0), set[int]()
        if (path, line) == ("", event.place[0]):
            path, line = self._first.get(line, ("", 0))
        while line not in self._waiting and line in self._passed.keys() - seen and not path:
            seen.add(line)
            path, line = self._passed[line]
        return line if not path else 0


def _adds_little(event: FollowedEvent, front: FollowedEvent) -> bool:
    """Whether a wait needs no finding of its own: nothing else mends it, no loop multiplies it, it costs no more."""
    multiplied = bool(event.loops) and (event.loops, event.way) != (front.loops, front.way)
    return not multiplied and (is_costly(front) or is_needed(front) or not is_costly(event))


def _are_adjacent(one: FollowedEvent, other: FollowedEvent, lines: Sequence[str]) -> bool:
    """Whether two copies are in one statement, or nothing is between their statements, and they are mended alike.

    The first may be in the header of a block with the second.
    """
    made, also = (event.form in _MADE and event.origin in GENERATED for event in (other, one))
    apart = (made or other.origin in ("pinned", SAME)) and (one.statement != other.statement or made > also)
    if apart or SAME in {one.origin, other.origin} != {SAME} or how_often(one) != how_often(other):
        return False
    between = lines[one.statement[1] : other.statement[0] - 1]
    before, after = (len(lines[at - 1]) - len(lines[at - 1].lstrip()) for at in (one.statement[0], other.statement[0]))
    enters = before < after and lines[one.statement[1] - 1].rstrip().endswith(":")
    bare = all(not line.strip() or line.lstrip().startswith("#") for line in between)
    return bare and (before == after or enters) and all(each.way or not each.seen for each in (one, other))
