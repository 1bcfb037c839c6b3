"""The loaders that programs make, and where their batches are copied to the device in every step."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from torchlint.engine.arguments import OTHERS
from torchlint.engine.conditions import pins
from torchlint.engine.frames import Made
from torchlint.engine.frequency import Frequency, Phase
from torchlint.engine.values import Kind, Value
from torchlint.knowledge.forms import BY_LIBRARY, COPY
from torchlint.project.followed import ASSUMED, FollowedFeed, FollowedLoader, range_of


def loaders_of_files(loaders: Iterable[Made], frequency: Frequency) -> dict[str, list[FollowedLoader]]:
    """The loaders that the code of each file makes."""
    made: dict[ast.Call, list[Made]] = defaultdict(list)
    for each in loaders:
        made[each.node].append(each)
    told = {node: {pins(each.named) for each in every} for node, every in made.items()}
    pinned: dict[ast.AST, bool | None] = {node: found.pop() for node, found in told.items() if len(found) == 1}
    feeds = _feeds(frequency, pinned)
    found: dict[str, list[FollowedLoader]] = defaultdict(list)
    for node, every in made.items():
        options = (each.named["pin_memory"].option for each in every if "pin_memory" in each.named)
        option = next((option.name for option in options if option is not None), "")
        batches = {each.unpinned for each in every}
        batch = batches.pop() if len(batches) == 1 else ""
        loader = FollowedLoader(range_of(node), option, _workers(every), feeds.get(node), pinned.get(node), batch)
        found[every[0].frame.module.path].append(loader)
    return found


def _workers(every: Iterable[Made]) -> int | None:
    """How many workers all loaders that a call makes have in a normal run; None if that is not known."""
    found = {_workers_of(each.named.get("num_workers"), open_=OTHERS in each.named) for each in every}
    return found.pop() if len(found) == 1 else None


def _workers_of(given: Value | None, *, open_: bool) -> int | None:
    if given is None:
        return None if open_ else 0
    assumed = given.option is not None and given.option.assumed
    known = given.kind is Kind.CONSTANT and type(given.detail) is int and not assumed
    return given.detail if known else None


def _feeds(frequency: Frequency, told: Mapping[ast.AST, bool | None]) -> dict[ast.AST, FollowedFeed]:
    """Where the batches of loaders are copied most often, by the calls that make these; rather what is not pinned."""
    found: dict[ast.AST, tuple[Any, FollowedFeed]] = {}
    for frame in frequency.frames:
        for (kind, place), event in frame.events.items():
            if kind != COPY or event.origin is None or event.origin.kind != "batch":
                continue
            often = frequency.of(frame, place.region)
            if often.rare or often.option is not None or often.phase is Phase.NONE:
                continue
            by = event.what if event.form is BY_LIBRARY else ""
            phase = ASSUMED if often.assumed else often.phase.value
            for loader in event.origin.every:
                pinned = told.get(loader.node, loader.pins)
                feed = FollowedFeed(event.path, place.line, phase, by, pinned)
                rank = pinned is False, often.rank
                if loader.node not in found or rank > found[loader.node][0]:
                    found[loader.node] = rank, feed
    return {node: feed for node, (_, feed) in found.items()}
