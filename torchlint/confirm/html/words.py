"""Events in words: what happened, in which steps, how long it took, and from where it was called."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchlint.confirm.case import size, times
from torchlint.confirm.evidence import Event, Run
from torchlint.report.figures import duration

_NOUNS = {
    "upload": ("copy", " to the device"),
    "download": ("copy", " to the host"),
    "sync": ("synchronization", ""),
    "batch": ("batch", " from a loader"),
    "array": ("array", " copied into a tensor"),
    "arrays": ("list", " of arrays converted"),
    "data": ("conversion", " of Python values"),
}
SHOWN = tuple(_NOUNS)
# What is shown at lines without a finding; libraries convert Python values everywhere.
NOTABLE = tuple(kind for kind in SHOWN if kind != "data")


def counted(event: Event) -> str:
    """An event in a few words."""
    noun, more = _NOUNS[event.kind]
    return f"{times(event.count, noun)}{more}"


def happened(event: Event) -> str:
    """An event in one line."""
    said = [f"{counted(event)}{_how(event)}"]
    said += [f"{size(event.bytes)} in all"] if event.bytes else []
    said += [in_steps(event)] if event.steps else []
    if event.each is not None and event.each[2]:
        least, median, most = (duration(ns / 1000) for ns in event.each)
        said.append(f"{median} each (from {least} to {most})")
    said += [f"called by {_callers(event)}"] if len(event.callers) > 1 else []
    return "; ".join(said)


def _how(event: Event) -> str:
    if event.kind not in ("upload", "download"):
        return ""
    memory = "pinned" if event.facts.get("pinned") else "pageable"
    return f", {memory}, {'asynchronous' if event.facts.get('non_blocking') else 'blocking'}"


def _callers(event: Event) -> str:
    """The calls that led to an event, the outermost first; the innermost one is the line itself."""
    outer = list(reversed(event.callers[1:]))
    places = [f"{os.path.basename(path)}:{line}" for path, line, _ in outer]
    return " > ".join(
        place if function == "<module>" else f"{function} ({place})"
        for place, (_, _, function) in zip(places, outer, strict=True)
    )


def in_steps(event: Event) -> str:
    """The steps in which it happened: ``in steps 1 to 48``, ``in 6 of steps 1 to 41``, ``in step 3``."""
    number, first, last = sum(run[2] for run in event.steps), event.steps[0][0], event.steps[-1][1]
    if first == last:
        return f"in step {first}"
    return f"in {'' if number == last - first + 1 else f'{number} of '}steps {first} to {last}"


def ranks(events: Sequence[Event], run: Run) -> str:
    """The ranks in which it happened, if not in all."""
    seen = {rank for event in events for rank in event.ranks}
    if len(run.ranks) < 2 or not seen or len(seen) == len(run.ranks):
        return ""
    return f"on rank {', '.join(sorted(seen, key=int))}" if all(map(str.isdigit, seen)) else ""
