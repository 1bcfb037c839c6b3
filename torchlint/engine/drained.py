"""Waits that find an empty queue: the host has waited before, and nothing that takes long was queued since then.

What a frame does is a sequence in the order of its source, within regions: branches that exclude one another begin with
the same state, and the end of a round of a loop is before the begin of the next one.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.engine.conditions import leaves
from torchlint.engine.frames import Event, Frame, Region
from torchlint.knowledge import forms

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from torchlint.engine.frames import Deed
    from torchlint.engine.frequency import Frequency

# What the host has waited at last, on any path: waits, or one of these.
_State = frozenset["Event | str"]
_BUSY: _State = frozenset({"busy"})  # something that takes long may be queued
_ENTRY: _State = frozenset({"entry"})  # as where the function was called
_PASSES = 3  # through a loop until nothing changes
_EMPTYING = (forms.READ, forms.WAIT, forms.COPY)
# Waits that do not always happen, or not for all that is queued.
_PARTIAL = (forms.ASYNCHRONOUS, forms.PAGEABLE, forms.BY_LIBRARY, forms.EVENT, forms.STREAM, forms.EMPTIED)


class Drained:
    """Answers for the frames of a program, once their frequency is known."""

    def __init__(self, frequency: Frequency) -> None:
        self._frequency = frequency
        self._before: dict[tuple[Frame, Region, Event], _State] = {}
        self._sites: dict[Frame, dict[tuple[Frame, Region, int], _State]] = defaultdict(dict)
        self._exits: dict[Frame, _State] = {}
        self._entries: dict[Frame, _State] = {}
        self._seen: dict[tuple[ast.AST, str], list[tuple[Frame, Region, Event]]] = defaultdict(list)
        for frame in frequency.frames:
            self._exit(frame)
        for place in self._before:
            self._seen[place[2].node, place[2].form.kind].append(place)

    def by(self, event: Event, frame: Frame, region: Region) -> Event | None:
        """The wait behind which an event finds nothing to wait for, wherever a step gets to it; None if it may."""
        if event.form.kind not in _EMPTYING:
            return None
        phase, found = self._frequency.of(frame, region).phase, set[Event | str]()
        for place in self._seen[event.node, event.form.kind]:
            often = self._frequency.of(*place[:2])
            if often.phase is phase and not often.rare:
                found |= self._resolved(self._before[place], place[0])
        waits = [each for each in found if isinstance(each, Event) and each.node is not event.node]
        if not waits or any(isinstance(each, str) for each in found):
            return None
        here, own = event.path, _position(event.node)
        return max(waits, key=lambda each: (each.path == here, (at := _position(each.node)) < own, at, each.path))

    # -- functions ---------------------------------------------------------------------------------

    def _resolved(self, state: _State, frame: Frame) -> _State:
        """A state in a frame, with that where steps call it in place of its entry."""
        return state if not state >= _ENTRY else (state - _ENTRY) | self._entry(frame)

    def _entry(self, frame: Frame) -> _State:
        """The state at the begin of a function, wherever a step calls it."""
        if frame not in self._entries:
            self._entries[frame] = _BUSY  # if it calls itself
            known, found = self._frequency.of(frame, frame.root), _State()
            for (caller, region, _), state in self._sites[frame].items():
                often = self._frequency.of(caller, region)
                if often.phase is known.phase and not often.rare:
                    found |= self._resolved(state, caller)
            self._entries[frame] = found or _BUSY
        return self._entries[frame]

    def _exit(self, frame: Frame) -> _State:
        """The state at the end of a function."""
        if frame not in self._exits:
            self._exits[frame] = _BUSY
            deeds = sorted(frame.deeds, key=lambda deed: deed.position)
            self._exits[frame] = self._block(frame, deeds, frame.root, _ENTRY)
        return self._exits[frame]

    # -- statements --------------------------------------------------------------------------------

    def _block(self, frame: Frame, deeds: Sequence[Deed], region: Region, state: _State) -> _State:
        """The state behind what is done in a region, in this order."""
        for inner, group in _parts(deeds, region):
            if inner is None:
                state = self._done(frame, group[0], state)
            elif inner.kind == "loop":
                state = self._loop(frame, group, inner, state)
            elif inner.is_branch:
                state = self._branches(frame, group, inner, state)
            else:
                state = self._block(frame, group, inner, state)
        return state

    def _done(self, frame: Frame, deed: Deed, state: _State) -> _State:
        what = deed.what
        if what is None:
            return _BUSY
        if isinstance(what, Event):
            self._before[frame, deed.region, what] = state
            return frozenset({what}) if _empties(what) else state
        self._sites[what][frame, deed.region, id(deed)] = state
        left = self._exit(what)
        return (left - _ENTRY) | state if left >= _ENTRY else left

    def _loop(self, frame: Frame, deeds: Sequence[Deed], loop: Region, state: _State) -> _State:
        """What a loop leaves; a round of steps begins as the one before has ended."""
        begin = state
        for _ in range(_PASSES):
            end = self._block(frame, deeds, loop, begin)
            begin = end if self._frequency.is_step(frame, loop) else state | end
        return end | state

    def _branches(self, frame: Frame, deeds: Sequence[Deed], guard: Region, state: _State) -> _State:
        """What alternatives leave together, of which only the usual ones that go on count."""
        found = _State()
        within: dict[Region, list[Deed]] = defaultdict(list)
        for deed in deeds:
            within[_below(deed.region, guard.up)].append(deed)
        for region in frame.regions.values():
            if region.up is guard.up and region.node is guard.node and region.is_branch:
                end = self._block(frame, within[region], region, state)
                usual = region.backward or not (region.rare or region.option is not None)
                found |= end if usual and not _leaves(region) else _State()
        return found if isinstance(guard.node, ast.If) and found else found | state


def _parts(deeds: Sequence[Deed], region: Region) -> Iterator[tuple[Region | None, list[Deed]]]:
    """What is done in a region itself, and in those directly inside of it, of which alternatives are one."""
    found: dict[Hashable, tuple[Region | None, list[Deed]]] = {}
    for deed in deeds:
        inner = _below(deed.region, region)
        key = deed if inner is region else (inner.kind, inner.node) if inner.is_branch else inner
        found.setdefault(key, (None if inner is region else inner, []))[1].append(deed)
    yield from found.values()


def _below(region: Region, outer: Region | None) -> Region:
    """The region around another one that is directly inside of an outer one, or the outer one itself."""
    while region is not outer and region.up is not outer and region.up is not None:
        region = region.up
    return region


def _leaves(branch: Region) -> bool:
    """Whether a branch of an ``if`` ends by leaving the block around it."""
    node = branch.node
    return isinstance(node, ast.If) and leaves(node.orelse if branch.tag else node.body)


def _empties(event: Event) -> bool:
    return event.form.kind in _EMPTYING and event.form not in _PARTIAL


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
