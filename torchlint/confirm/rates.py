"""Rates: figures of events for each step of a phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchlint.confirm.evidence import EVALUATION, NOTHING, TRAINING, Event, Figures, Run

Figure = Callable[[Event, Figures], float]


def per_step(run: Run, events: Iterable[Event], phase: str | None = None) -> float | None:
    """Events for each step."""
    return each_step(run, events, lambda _, part: part.number, phase)


def each_step(run: Run, events: Iterable[Event], figure: Figure, phase: str | None = None) -> float | None:
    """A figure of events per step of a phase, or of the run's main one; None if that has no steps.

    Training is counted without the first step of each training, if there are others. Workers do not see steps: what
    they do is divided by all batches and steps of the run.
    """
    known = run.phases[phase or run.main]
    if not known.count:
        return None
    beside = run.phases[TRAINING].count + run.phases[EVALUATION].count
    found = 0.0
    for event in events:
        if not event.main:
            found += figure(event, event.whole) / beside
        elif known.steady and (phase or run.main) == TRAINING:
            found += figure(event, event.steady) / known.steady
        else:
            found += figure(event, event.phases.get(phase or run.main, NOTHING)) / known.count
    return found


def phase_of(run: Run, events: Iterable[Event]) -> str:
    """The phase whose steps events belong to: the run's main one, or evaluation if they happen only there."""
    own = [event for event in events if event.main]
    if any(run.main in event.phases for event in own) or not any(EVALUATION in event.phases for event in own):
        return run.main
    return EVALUATION


def time_of(event: Event, part: Figures) -> float:
    """The nanoseconds of a part of equal events: by the median of one where it is known, like the time of a step."""
    return part.number * event.each[1] if event.each is not None else part.ns
