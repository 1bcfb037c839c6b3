"""Everything that following a project sees, place by place, also where it happens in no step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchlint.solution import solve


class Event(NamedTuple):
    """A read, another wait or a copy, as :class:`torchlint.engine.events.Occurrence` has it."""

    path: str
    line: int
    kind: str
    what: str
    phase: str
    rare: bool
    option: str | None
    assumed: bool


def events(contents: Mapping[str, bytes]) -> list[Event]:
    """What happens in the files of a project, in order."""
    found: list[tuple[int, Event]] = []
    for one in solve(contents).happened:
        node, form, state = one.event.node, one.event.form, one.state
        path, line = one.event.path, getattr(node, "lineno", 0)
        what, phase = one.event.what, state.phase.value
        event = Event(path, line, form.kind, what, phase, state.rare, state.option, state.assumed)
        found.append((getattr(node, "col_offset", 0), event))
    return [event for _, event in sorted(found, key=lambda each: (*each[1][:2], each[0], *each[1][2:4]))]
