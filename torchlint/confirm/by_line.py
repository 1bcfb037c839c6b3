"""The cost of a finding by line, where it is about several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchlint.base.paths import relative_to
from torchlint.confirm.costs import Costs
from torchlint.confirm.evidence import Event
from torchlint.confirm.rates import per_step, phase_of
from torchlint.report.figures import percent
from torchlint.report.shared import place


@dataclass(frozen=True)
class LineCost:
    """A line of a finding: how often in the run something happened there, and its part of the cost, from 0 to 1.

    ``path`` is relative to the folder of the run, and empty for what happens in libraries.
    """

    path: str
    line: int
    count: int
    part: float


def in_words(lines: Sequence[LineCost], most: int | None = None) -> str:
    """The costliest lines, at most ``most``, with their parts of the cost: ``train.py:61 86 %, train.py:62 14 %``."""
    shown = lines[:most]
    rest = lines[len(shown) :]
    named = [f"{place(one.path, one.line) if one.path else 'in a library'} {percent(one.part)}" for one in shown]
    more = [f"{len(rest)} more {percent(sum(one.part for one in rest))}"] if rest else []
    return ", ".join([*named, *more])


def by_line(events: Sequence[Event], costs: Costs, base: str) -> tuple[LineCost, ...]:
    """The lines of events, the costliest first; empty if all are at one line.

    They are weighed by their costs or, if these are not known, by their number. Lines that have no part in a step, such
    as those of evaluation in a step of training, are left out.
    """
    lines: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        lines.setdefault((event.place.path, event.place.line), []).append(event)
    weights = _weights(list(lines.values()), costs)
    if sum(weight > 0 for weight in weights) < 2:
        return ()
    whole = sum(weights)
    found = [
        LineCost(
            path=relative_to(base, path) if path else "",
            line=line,
            count=sum(event.count for event in here),
            part=weight / whole,
        )
        for ((path, line), here), weight in zip(lines.items(), weights, strict=True)
        if weight > 0
    ]
    return tuple(sorted(found, key=lambda one: (-one.part, one.path, one.line)))


def _weights(lines: Sequence[Sequence[Event]], costs: Costs) -> list[float]:
    """The weight of each line in a step or, if nothing happens after the first one, the number of its events."""
    every = [event for here in lines for event in here]
    phase, whole = phase_of(costs.run, every), costs.of(every)
    known = [costs.of(here, phase) for here in lines]
    weights = [one.us if one is not None and whole is not None and one.basis is whole.basis else 0.0 for one in known]
    if not any(weights):
        weights = [per_step(costs.run, here, phase) or 0.0 for here in lines]
    return weights if any(weights) else [float(sum(event.count for event in here)) for here in lines]
