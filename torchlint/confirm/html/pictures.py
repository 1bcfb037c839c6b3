"""The geometry of pictures: the bar of a step, and the strip of all steps. Templates draw them as SVG."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torchlint.confirm.answer import BLOCKED, DATA, IDLE, Answer
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.html.lines import Line
from torchlint.report.figures import duration, percent

WIDTH, HEIGHT = 1000.0, 100.0
# Steps longer than this many medians are drawn cut, so that the others can be told apart.
_CUT = 4
_ROWS = 12
_TRACED = {"batch": "data", "upload": "blocked", "download": "blocked", "sync": "blocked"}
# The least width of a tick.
_TICK = 2.5


class Segment(NamedTuple):
    """A part of the bar."""

    x: float
    width: float
    kind: str
    name: str
    time: str
    share: str
    basis: str


class Bar(NamedTuple):
    """A step of the strip."""

    x: float
    width: float
    y: float
    height: float
    kind: str
    title: str


class Ticks(NamedTuple):
    """A line below the strip: where it happened, as ``(x, width, kind)``."""

    place: str
    anchor: str
    what: str
    ticks: tuple[tuple[float, float, str], ...]


class Strip(NamedTuple):
    """The steps of a run in their order, and what happened in them."""

    bars: tuple[Bar, ...]
    rows: tuple[Ticks, ...]
    steps: int
    longest: str
    cut: bool


class Sample(NamedTuple):
    """A sampled step on a time axis: what happened on the host, as ``(x, width, kind, title)``."""

    name: str
    time: str
    entries: tuple[tuple[float, float, str, str], ...]


def samples(run: Run) -> list[Sample]:
    """The sampled steps; none on the simulated GPU, whose times say nothing."""
    if run.mode == "sim":
        return []
    return [_sample(sample, run.trace["sites"]) for sample in run.trace["steps"]]


def _sample(sample: Mapping[str, Any], sites: Sequence[Sequence[Any]]) -> Sample:
    whole = max([int(sample["ns"]), *(begun + spent for begun, spent, *_ in sample["entries"]), 1])
    shown = []
    for begun, spent, kind, number, _ in sample["entries"]:
        path, line = sites[number][:2] if number < len(sites) else ("", 0)
        at = f"{os.path.basename(path)}:{line}" if path else "in a library"
        took = f", {duration(spent / 1000)}" if spent else ""
        width = max(WIDTH * spent / whole, _TICK)
        shown.append((WIDTH * begun / whole, width, _TRACED.get(kind, "other"), f"{kind} at {at}{took}"))
    return Sample(f"step {sample['step']}, {sample['phase']}", duration(whole / 1000), tuple(shown))


def segments(answer: Answer) -> list[Segment]:
    """The bar of the median step or, on the simulated GPU, of what it waits for; empty if no step was timed."""
    whole = sum(part.us for part in answer.parts)
    if not whole:
        return []
    found: list[Segment] = []
    at = 0.0
    for part in answer.parts:
        kind = {DATA: "data", BLOCKED: "blocked", IDLE: "blocked"}.get(part.name, "rest")
        width = WIDTH * part.us / whole
        share = percent(min(part.us / answer.step_us, 1.0)) if answer.step_us else ""
        found.append(Segment(at, width, kind, part.name, duration(part.us), share, part.basis.value))
        at += width
    return found


def strip(run: Run, lines: Sequence[Line], anchors: dict[str, str]) -> Strip | None:
    """The strip of steps; None if their durations are not known."""
    last = max((number for number, *_ in run.durations), default=0)
    if last < 2:
        return None
    times = sorted(ns for *_, ns in run.durations)
    top = min(times[-1], max(times[len(times) // 2], 1) * _CUT)
    bars = tuple(_bar(number, phase, ns, last, len(run.durations), top) for number, phase, ns in run.durations)
    rows = [_row(line, last, anchors) for line in lines if any(event.steps for event in line.events)]
    return Strip(bars, tuple(rows[:_ROWS]), last, duration(top / 1000), times[-1] > top)


def _bar(number: int, phase: str, ns: int, last: int, drawn: int, top: int) -> Bar:
    width = WIDTH / max(min(last, drawn), 1)
    height = max(HEIGHT * min(ns / max(top, 1), 1.0), 1.0)
    kind = "evaluation" if phase == EVALUATION else "training"
    title = f"step {number}, {phase}: {duration(ns / 1000)}"
    cut = " cut" if ns > top else ""
    return Bar(WIDTH * (number - 1) / last, width * 0.88, HEIGHT - height, height, f"{kind}{cut}", title)


def _row(line: Line, last: int, anchors: dict[str, str]) -> Ticks:
    runs = sorted({tuple(run) for event in line.events for run in event.steps})
    ticks = tuple(
        (
            WIDTH * (first - 1) / last,
            max(WIDTH * (min(end, last) - first + 1) / last, _TICK),
            "full" if number == end - first + 1 else "some",
        )
        for first, end, number in runs
        if first <= last
    )
    what = {"upload": "to the device", "download": "to the host", "sync": "waits", "batch": "data"}
    said = ", ".join(dict.fromkeys(what.get(event.kind, "on the host") for event in line.events))
    anchor = f"{anchors[line.path]}-{line.number}" if line.path in anchors else ""
    return Ticks(f"{os.path.basename(line.path)}:{line.number}", anchor, said, ticks)
