"""What a run has shown at the expressions of its files: for linting them again, now and later."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

from torchlint.base.paths import below
from torchlint.base.version import __version__
from torchlint.confirm.costs import Costs
from torchlint.confirm.evidence import COSTLY, EVALUATION, NOTHING, TRAINING, Event, Figures, Run
from torchlint.confirm.order import Order
from torchlint.confirm.prices import Prices
from torchlint.confirm.stored import keep
from torchlint.run.recorded.evidence import NAME, Measured, Shot, content_of, document
from torchlint.run.recorded.shown import Shown

# A file, what was shown there, the steps, and whether it is pageable and has the time of a price list.
_Key = tuple[str, Shown, int, bool, bool]


def shots(order: Order, run: Run, prices: Prices) -> list[Shot]:
    """What was shown of the files below the folder that the program was started in.

    Nothing is known of a run that left the simulation.
    """
    if run.left is not None:
        return []
    found: defaultdict[str, list[Measured]] = defaultdict(list)
    for path, one in _measured(run, prices):
        found[path].append(one)
    named = ((below(path, order.base), _content(order, run, path), measured) for path, measured in found.items())
    return [Shot(name, content, NAME, tuple(sorted(each))) for name, content, each in named if name and content]


def write(order: Order, run: Run, prices: Prices) -> None:
    """Write what can be committed into the folder of the evidence, unless nothing is known. Raises ``OSError``."""
    if run.left is not None or not run.all_steps:
        return
    target = os.path.join(order.directory, NAME)
    written = document(shots(order, run, prices), torch=run.torch, device=run.device or run.mode, version=__version__)
    keep(target, written, indent=1)


def _content(order: Order, run: Run, path: str) -> str | None:
    data = run.sources.get(path)
    return content_of(data) if data is not None else order.files.get(path)


def _measured(run: Run, price_list: Prices) -> Iterator[tuple[str, Measured]]:
    """What happened in steps, by file; equal events that differ in where the data is from are one.

    It costs what a verdict would say: idle time where the GPU was profiled there, and else a price.
    """
    costing = Costs(run, price_list)
    sums: dict[_Key, Figures] = {}
    costs: defaultdict[_Key, float] = defaultdict(float)
    parts: defaultdict[_Key, float] = defaultdict(float)
    for event in run.of(*COSTLY):
        if not (event.main and event.place.known and event.place.column >= 0) or event.facts.get("non_blocking"):
            continue
        for phase, steps, part in _parts(run, event):
            place = event.place
            where = (place.line, place.column, place.end_line, place.end_column)
            how = str(event.facts.get("why") or event.facts.get("how") or "")
            shown = Shown(event.kind, where, how, "training" if phase == TRAINING else "inference", 0.0)
            idle = costing.idle(event)
            key = place.path, shown, steps, event.kind == "upload" and not event.facts.get("pinned"), idle is None
            sums[key] = sums.get(key, NOTHING).plus(part)
            costs[key] += price_list.of(event, part) if idle is None else part.number * idle
            parts[key] = max(parts[key], _part(run, event, phase))
    for key, figures in sums.items():
        path, shown, steps, pageable, modeled = key
        yield path, Measured(shown._replace(part=parts[key]), figures.number, steps, costs[key], pageable, modeled)


def _part(run: Run, event: Event, phase: str) -> float:
    """The part of the steps that have such an event: of all phases in which it happens, or at least that of one phase.

    One step may be without: what happens after the last step of the optimizer belongs to none. What happens before an
    evaluation's end is known belongs to it: so a few steps of training may be without, too.
    """
    having = sum(number for *_, number in event.steps)
    others = [other for other in (TRAINING, EVALUATION) if other in event.phases and other != phase]
    elsewhere = sum(event.phases[other].number for other in others)  # at most one of them in a step
    every = sum(run.phases[one].count for one in (phase, *others))
    whole, own = having / max(every - 1, 2), (having - elsewhere) / max(run.phases[phase].count - 1, 2)
    return min(max(whole, own), 1.0)


def _parts(run: Run, event: Event) -> Iterator[tuple[str, int, Figures]]:
    """The figures in steps of training, without the first ones if there are others, and in steps of evaluation."""
    for phase in (TRAINING, EVALUATION):
        known = run.phases[phase]
        steady = phase == TRAINING and known.steady > 0
        part = event.steady if steady else event.phases.get(phase, NOTHING)
        if part.number and known.count:
            yield phase, known.steady if steady else known.count, part
