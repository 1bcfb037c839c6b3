"""The reads, waits and copies of a project, each with the state in which it happens most often."""

from __future__ import annotations

import ast
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torchlint.engine.frames import Event, Frame, Region
from torchlint.engine.frequency import Frequency, Often, Phase
from torchlint.knowledge import forms
from torchlint.program.modules import Module
from torchlint.project.followed import ASSUMED, FollowedEvent, Range, range_of


class Occurrence(NamedTuple):
    """What happens at a place, and where in the program it happens most often."""

    event: Event
    state: Often
    frame: Frame
    region: Region

    @property
    def is_action(self) -> bool:
        """Whether the host reads in a loop in which it acts in an environment."""
        loop = self.region.loop()
        return self.event.form is forms.READ_METHOD and loop is not None and loop.acts

    def origin(self, frequency: Frequency) -> str:
        """What is copied: a ``batch``, an ``array``, what was ``read`` before, ``made`` in the step or ``constant``."""
        origin = self.event.origin
        if origin is None or origin.kind != "made":
            return origin.kind if origin is not None else ""
        in_step = frequency.of(origin.frame, origin.region).phase is not Phase.NONE
        return "made" if in_step else "constant"


def occurrences(frequency: Frequency) -> Iterator[Occurrence]:
    """Everything that happens, each place and form once."""
    best: dict[tuple[str, int, int, str, str], Occurrence] = {}
    for frame in frequency.frames:
        for (kind, place), event in frame.events.items():
            state = frequency.of(frame, place.region)
            key = (event.path, place.line, place.column, kind, event.what)
            if key not in best or state.rank > best[key].state.rank:
                best[key] = Occurrence(event, state, frame, place.region)
    yield from best.values()


def events_of_files(
    happened: Iterable[Occurrence], frequency: Frequency, modules: Mapping[str, Module]
) -> dict[str, set[FollowedEvent]]:
    """What happens in every step, by file."""
    statements: dict[str, list[tuple[int, int]]] = {}
    found: dict[str, set[FollowedEvent]] = defaultdict(set)
    for one in happened:
        state, node, path = one.state, one.event.node, one.event.path
        if one.is_action or state.phase is Phase.NONE or state.rare or not isinstance(node, (ast.expr, ast.stmt)):
            continue
        if path not in statements:
            statements[path] = sorted(_statements(modules[path].tree))
        place = range_of(node)
        phase = ASSUMED if state.assumed else state.phase.value
        found[path].add(
            FollowedEvent(
                place,
                one.event.form.key,
                one.event.what,
                phase,
                state.option or "",
                one.origin(frequency),
                _around(statements[path], place),
                tuple(frequency.way(one.frame, one.region)),
            )
        )
    return found


def _around(statements: Sequence[tuple[int, int]], place: Range) -> tuple[int, int]:
    """The lines of the innermost statement around a place; those of the place itself if there is none."""
    line, _, last, _ = place
    before = bisect(statements, line, key=lambda lines: lines[0])
    outwards = (statements[number] for number in range(before - 1, -1, -1))
    return next((lines for lines in outwards if line <= lines[1]), (line, last))


def _statements(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The first and last line of each statement; of a compound statement, those of its header."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            first = min((getattr(inner, "lineno", 0) for inner in body), default=0) if body else 0
            yield node.lineno, first - 1 if first > node.lineno else node.end_lineno or node.lineno
