"""How often the code of each file runs: once, between steps, in every step, or several times in each."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.engine.frames import callees
from torchlint.engine.frequency import Often, Phase, anywhere
from torchlint.engine.gradients import quiet_frames
from torchlint.project.followed import (
    ASSUMED,
    HOT,
    ONCE,
    SAMPLING,
    WITHOUT_MODEL,
    FollowedOften,
    FollowedRepeat,
    Range,
    range_of,
)

if TYPE_CHECKING:
    from torchlint.engine.frames import Frame, Region
    from torchlint.engine.state import State
    from torchlint.engine.ways import Ways

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NEVER = FollowedOften((0, 0, 0, 0), ONCE)
Found = tuple[tuple[FollowedOften, ...], tuple[FollowedRepeat, ...]]


class Counts:
    """Tells how often each statement runs, and each part of an expression with a condition or loop of its own."""

    def __init__(self, state: State, ways: Ways) -> None:
        self._state, self._ways, self._frequency = state, ways, ways.frequency
        self._quiet = quiet_frames(self._frequency.frames)
        self._workers = callees(frame for frame in self._frequency.frames if frame.worker)
        self._known: dict[Region, tuple[tuple[object, ...], FollowedOften]] = {}
        self._repeats: dict[str, dict[Range, FollowedRepeat]] = defaultdict(dict)
        self._note_loops()
        self._note_functions()

    def of_files(self) -> dict[str, Found]:
        """What runs more or less often than the code around it, and the loops and functions that repeat something."""
        every: dict[str, list[tuple[Range, FollowedOften]]] = defaultdict(list)
        for node, runs in self._state.ran.items():
            path = next(iter(runs.values())).module.path
            here = max((self._of(frame, region) for region, frame in runs.items()), key=lambda each: each[0])[1]
            every[path].append((range_of(node), here))
            if isinstance(node, _FUNCTIONS):
                first, last = range_of(node.body[0]), range_of(node.body[-1])
                every[path].append(((*first[:2], *last[2:]), _NEVER))  # of a function that nothing calls
            elif isinstance(node, ast.Try) and here.phase:
                seldom = here._replace(rate="epoch", rare=True)
                every[path] += [(range_of(handler), seldom) for handler in node.handlers]
        return {
            path: (tuple(_different(places)), tuple(sorted(self._repeats.get(path, {}).values())))
            for path, places in every.items()
        }

    def _of(self, frame: Frame, region: Region) -> tuple[tuple[object, ...], FollowedOften]:
        """How often a region runs, with what is larger for the more frequent one."""
        known = self._known.get(region)
        if known is None:
            often = self._frequency.of(frame, region)
            rare = any(around.rare for around in region.around())
            found = FollowedOften(_NEVER.place, self._count(frame, region, often), self._phase(frame, region, often))
            found = found._replace(rare=rare, by=self._by(frame, region) if found.phase else "")
            known = self._known[region] = (not often.rare, *often.rank), found
        return known

    def _count(self, frame: Frame, region: Region, often: Often) -> str:
        if frame in self._workers and often.phase is Phase.NONE:
            looped = often.in_loop or region.loop() is not None
            return "epoch" if often.rare else "element" if looped else "step"
        if often.phase is Phase.NONE or often.rare:
            return "epoch" if often.in_loop or often.phase is not Phase.NONE else ONCE
        return "element" if self._ways.loops(frame, region) else "step"

    def _phase(self, frame: Frame, region: Region, often: Often) -> str:
        if often.phase is not Phase.INFERENCE:
            return "" if often.phase is Phase.NONE else often.phase.value
        if self._ways.samples(frame, region) or often.hot:
            return HOT if often.hot else SAMPLING
        step = self._ways.step_of(frame, region)
        quiet = frame in self._quiet or region.is_quiet or step is None
        return often.phase.value if quiet or self._ways.computes(frame, region) else WITHOUT_MODEL

    def _by(self, frame: Frame, region: Region) -> str:
        """What makes the steps that a region runs in."""
        if self._ways.step_of(frame, region) is not None:
            return "loop"
        caller = self._frequency.reached_by.get(frame)
        return "caller" if caller is None or caller[0].assumed else ASSUMED

    # -- what repeats something --------------------------------------------------------------------

    def _note_loops(self) -> None:
        for frame in self._frequency.frames:
            for region in frame.regions.values() if not frame.module.library else ():
                if region.kind == "loop" and isinstance(region.node, (ast.stmt, ast.expr)):
                    steps = self._frequency.is_step(frame, region)
                    found = FollowedRepeat(range_of(region.node), steps, region.over_batches, region.backward)
                    self._note(frame, found)

    def _note_functions(self) -> None:
        frames = self._frequency.frames
        marked = (f for f in frames if any(kind in ("backward", "step") for kind, _ in f.marks))
        for frame in self._frequency.closure(marked, anywhere):
            node = frame.function.node if frame.function is not None and not frame.module.library else None
            if isinstance(node, _FUNCTIONS):
                self._note(frame, FollowedRepeat(range_of(node), False, False, True))

    def _note(self, frame: Frame, found: FollowedRepeat) -> None:
        known = self._repeats[frame.module.path].setdefault(found.place, found)
        steps, batches, trains = (
            known.steps or found.steps,
            known.batches or found.batches,
            known.trains or found.trains,
        )
        self._repeats[frame.module.path][found.place] = FollowedRepeat(found.place, steps, batches, trains)


def _different(places: list[tuple[Range, FollowedOften]]) -> Iterator[FollowedOften]:
    """Places from the outside in, without those that run as often as what is around them."""
    around = [_NEVER._replace(place=(0, 0, sys.maxsize, 0))]
    for place, often in sorted(places, key=lambda each: (*each[0][:2], -each[0][2], -each[0][3])):
        while around[-1].place[2:] <= place[:2]:
            around.pop()
        found = often._replace(place=place)
        if found[1:] != around[-1][1:]:
            yield found
        around.append(found)
