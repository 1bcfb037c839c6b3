"""The loaders that programs make, and where their batches are copied to the device in every step."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from torchlint.engine import loading
from torchlint.engine.conditions import pins
from torchlint.engine.frequency import Frequency, Phase
from torchlint.engine.state import State
from torchlint.knowledge.forms import BY_LIBRARY, COPY
from torchlint.project.followed import ASSUMED, ONCE, SELDOM, FollowedFeed, FollowedLoader, range_of

_RATES = (SELDOM, ONCE, "epoch", "step")


def loaders_of_files(state: State, frequency: Frequency) -> dict[str, list[FollowedLoader]]:
    """The loaders that the code of each file makes."""
    made = loading.by_call(state.loaders.values())
    told = {node: {pins(each.named) for each in every} for node, every in made.items()}
    pinned: dict[ast.AST, bool | None] = {node: found.pop() for node, found in told.items() if len(found) == 1}
    feeds, begun = _feeds(frequency, pinned), loading.starts(made, state, frequency)
    found: dict[str, list[FollowedLoader]] = defaultdict(list)
    for node, every in made.items():
        options = (each.named["pin_memory"].option for each in every if "pin_memory" in each.named)
        option = next((option.name for option in options if option is not None), "")
        loader = FollowedLoader(
            range_of(every[0].node),
            option,
            _only(map(loading.workers_of, every)),
            feeds.get(node),
            pinned.get(node),
            _only(each.unpinned for each in every) or "",
            max((loading.rate_of(each, frequency) for each in every), key=_RATES.index),
            _only(map(loading.persists, every)),
            all(map(loading.in_memory, every)),
            _only(map(loading.decodes, every)) or ("", 0, ""),
            tuple(sorted(begun.get(node, ()))),
        )
        found[every[0].frame.module.path].append(loader)
    return found


def _only(found: Iterable[Any]) -> Any:
    """What all are; None if they differ."""
    every = set(found)
    return every.pop() if len(every) == 1 else None


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
