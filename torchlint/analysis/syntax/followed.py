"""What following the programs of a project tells, for the nodes of a file."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.project.cost import is_costly
from torchlint.project.followed import ONCE, FollowedOften, made_by

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from torchlint.analysis.syntax.positions import Positions
    from torchlint.project.cost import is_costly
from torchlint.project.followed import (
    FollowedEvent,
    FollowedFeed,
    FollowedFile,
    FollowedLoader,
    FollowedRepeat,
    FollowedStep,
    Range,
)


class Seen(NamedTuple):
    """An expression at which following the programs has seen something in a step."""

    node: cst.BaseExpression
    event: FollowedEvent


_NEVER = FollowedOften((0, 0, 0, 0), ONCE)


def _flat(nested: Sequence[FollowedOften]) -> tuple[list[FollowedOften], list[tuple[int, int]]]:
    """What holds from each of some positions on, of ranges within one another, from the outside in."""
    found: list[tuple[tuple[int, int], FollowedOften]] = []
    open_ = [_NEVER]
    for often in nested:
        while len(open_) > 1 and open_[-1].place[2:] <= often.place[:2]:
            found.append((open_.pop().place[2:], open_[-1]))
        open_.append(often)
        found.append((often.place[:2], often))
    while len(open_) > 1:
        found.append((open_.pop().place[2:], open_[-1]))
    return [often for _, often in found], [start for start, _ in found]


class FollowedNodes:
    """Finds what is known of nodes by their positions."""

    def __init__(self, positions: Callable[[], Positions], known: FollowedFile) -> None:
        self._positions = positions
        self._tensors = dict(known.tensors)
        self._unusual = known.unusual
        self._loaders = {loader.place: loader for loader in known.loaders}
        self.events = known.events
        self._forms = {event.form for event in known.events}
        self._costly = [event.place for event in known.events if is_costly(event)]
        self._returning = [event.place for event in known.events if event.is_round_trip]
        self._reached = frozenset(known.reached) if known.reached is not None else None
        self._steps = {step.line: step for step in known.steps}
        self._often, self._starts = _flat(known.often)
        self._repeats = {each.place: each for each in known.repeats}

    def tensor(self, node: cst.CSTNode) -> str | None:
        """The tensor that an expression is, as :class:`~torchlint.project.followed.FollowedFile` names it."""
        return self._tensors.get(self._positions().range(node)) if self._tensors else None

    def is_reached(self, function: cst.FunctionDef) -> bool:
        """Whether the programs of the project get to a function, as far as that is known."""
        return self._reached is None or self._positions().lines_of(function)[0] in self._reached

    def beside(self, node: cst.CSTNode, form: str) -> list[FollowedEvent]:
        """What happens in this form in an expression and in the others of its statement; nothing if not in itself."""
        place = self._positions().range(node) if form in self._forms else None
        own = next((event for event in self.events if event.place == place and event.form == form), None)
        return [e for e in self.events if own is not None and e.form == form and e.statement == own.statement]

    def costs(self, node: cst.CSTNode) -> bool:
        """Whether a normal run waits or copies in an expression in every step of a training or a sampler."""
        return self._holds(node, self._costly)

    def returns(self, node: cst.CSTNode) -> bool:
        """Whether a copy in an expression takes back another one."""
        return self._holds(node, self._returning)

    def _holds(self, node: cst.CSTNode, places: list[Range]) -> bool:
        if not places:
            return False
        line, column, last, end = self._positions().range(node)
        return any((line, column) <= place[:2] and place[2:] <= (last, end) for place in places)

    def events_in(self, node: cst.CSTNode) -> list[FollowedEvent]:
        """The events in an expression or a statement."""
        if not self.events:
            return []
        line, column, last, end = self._positions().range(node)
        return [event for event in self.events if (line, column) <= event.place[:2] and event.place[2:] <= (last, end)]

    def loader(self, call: cst.CSTNode) -> FollowedLoader | None:
        """The loader that a call makes, if the programs get there."""
        return self._loaders.get(self._positions().range(call)) if self._loaders else None

    def feed(self, call: cst.CSTNode) -> FollowedFeed | None:
        """Where batches of the loader that a call makes are copied to the device in every step."""
        loader = self.loader(call)
        return loader.feed if loader is not None else None

    def expressions(self, places: Collection[Range]) -> dict[Range, cst.BaseExpression]:
        """The outermost expressions with these ranges."""
        return self._positions().expressions(set(places)) if places else {}

    def seen(self, form: str) -> list[Seen]:
        """Where a form was seen, in source order."""
        events = {event.place: event for event in self.events if event.form == form}
        nodes = self.expressions(events)
        return [Seen(nodes[place], event) for place, event in sorted(events.items()) if place in nodes]

    def step(self, place: cst.CSTNode) -> FollowedStep | None:
        """How a function runs in every step, or how a loop makes steps; None if that is not known."""
        return self._steps.get(self._positions().lines_of(place)[0]) if self._steps else None

    def step_of(self, place: cst.CSTNode) -> tuple[str, int] | None:
        """The path and the line of the loop that makes the steps in which a function runs, where that is known."""
        found = self.step(place) if isinstance(place, cst.FunctionDef) else None
        return made_by(found.way) if found is not None else None

    def often(self, node: cst.CSTNode) -> FollowedOften:
        """How often a node runs, and in which step."""
        if not self._starts:
            return _NEVER
        if isinstance(node, (cst.IndentedBlock, cst.SimpleStatementSuite)):
            node = node.body[0]
        found = bisect_right(self._starts, self._positions().range(node)[:2])
        return self._often[found - 1] if found else _NEVER

    def repeat(self, place: cst.CSTNode) -> FollowedRepeat | None:
        """What a loop repeats, or whether a function trains; None if nothing is known of it."""
        return self._repeats.get(self._positions().range(place)) if self._repeats else None

    def unusual(self, node: cst.CSTNode) -> str | None:
        """Why a normal run does not get to a node, in words; None if it does, or if that is not known."""
        if not self._unusual:
            return None
        line, column, *_ = self._positions().range(node)
        return next((why for place, why in self._unusual if place[:2] <= (line, column) < place[2:]), None)
