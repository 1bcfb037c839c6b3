"""The picture of what the device did in a few profiled steps: rows of busy intervals, and the gaps between them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torchlint.confirm.evidence import Run
from torchlint.confirm.html.pictures import WIDTH
from torchlint.confirm.places import real
from torchlint.report.figures import duration, percent
from torchlint.report.shared import plural

_ROWS = (
    ("host", "host", "waits and copies", "data"),
    ("compute", "compute", "on the device", "computing"),
    ("HtoD", "HtoD", "copies to the device", "blocked"),
    ("DtoH", "DtoH", "copies to the host", "blocked"),
)
_Place = tuple[str, int]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# The least width of an interval that can be seen, and the least distance of two letters on a phone.
_THIN, _ROOM = 2.5, 45.0


class Row(NamedTuple):
    """A row of busy intervals, as ``(x, width)``."""

    name: str
    what: str
    kind: str
    busy: tuple[tuple[float, float], ...]


class Gap(NamedTuple):
    """A time without work. ``letter`` is that of the line; empty where there is no room."""

    x: float
    width: float
    letter: str
    title: str

    @property
    def middle(self) -> float:
        """Where its letter is."""
        return self.x + self.width / 2


class Cause(NamedTuple):
    """The gaps after the waits of one line, together; ``cost`` is what they cost a step, empty if it is not known."""

    letter: str
    place: str
    anchor: str
    gaps: str
    time: str
    share: str
    cost: str


class Timeline(NamedTuple):
    """The steps that are shown: their ends as positions, and what the device did in them."""

    said: str
    ends: tuple[float, ...]
    whole: str
    rows: tuple[Row, ...]
    gaps: tuple[Gap, ...]
    causes: tuple[Cause, ...]
    dropped: int

    @property
    def costs(self) -> bool:
        """Whether it is known what the waits of lines cost."""
        return any(cause.cost for cause in self.causes)


def timeline(run: Run, base: str, anchors: Mapping[str, str]) -> Timeline | None:
    """The picture; None if no steps were profiled. ``anchors`` are the ids of files by real path."""
    found = (run.profiled or {}).get("device")
    if not found or not found["steps"] or not found["steps"][-1]:
        return None
    whole = found["steps"][-1]
    causes = _causes(found, base, anchors, _costs(run))
    known = dict(causes)
    ends = [WIDTH * end / whole for end in found["steps"]]
    steps = plural(len(ends), "step")
    return Timeline(
        said=f"The device was idle {percent(found['idle'])} of {steps} that took {duration(whole / 1000)}.",
        ends=tuple(ends),
        whole=duration(whole / 1000),
        rows=tuple(_row(row, found["rows"], whole) for row in _ROWS),
        gaps=_lettered([_gap(gap, whole, known.get(_place(found, gap[2]))) for gap in found["gaps"]]),
        causes=tuple(cause for _, cause in causes),
        dropped=found["dropped"],
    )


def _row(row: tuple[str, str, str, str], rows: Mapping[str, Sequence[Sequence[int]]], whole: int) -> Row:
    key, name, what, kind = row
    busy = tuple((WIDTH * start / whole, max(WIDTH * spent / whole, _THIN)) for start, spent in rows[key])
    return Row(name, what, kind, busy)


def _place(found: Mapping[str, Any], site: int | None) -> _Place | None:
    """The file and line of a gap, if they are known."""
    if site is None or site >= len(found["sites"]):
        return None
    path, line = found["sites"][site][:2]
    return (path, line) if path else None


def _costs(run: Run) -> dict[_Place, float]:
    """Microseconds a step in which the device computes nothing because of what a line waits for."""
    found: dict[_Place, float] = {}
    for line in (run.blocked or {}).get("lines", ()):
        place = (line["site"][0], line["site"][1])
        found[place] = found.get(place, 0.0) + line["idle_ns"] / 1000 / (run.blocked or {})["steps"]
    return found


def _causes(
    found: Mapping[str, Any], base: str, anchors: Mapping[str, str], costs: Mapping[_Place, float]
) -> list[tuple[_Place | None, Cause]]:
    """The lines by what their waits cost, or else by how long the device was idle after them; most have a letter."""
    spent: dict[_Place | None, list[int]] = {}
    for _, ns, site in found["gaps"]:
        spent.setdefault(_place(found, site), []).append(ns)
    ordered = sorted(spent, key=lambda place: (-costs.get(place, 0.0) if place else 0.0, -sum(spent[place])))
    letters = dict(zip([place for place in ordered if place], _LETTERS, strict=False))
    return [
        (
            place,
            Cause(
                letter=letters.get(place, "") if place else "",
                place=f"{os.path.basename(place[0])}:{place[1]}" if place else "no wait is known",
                anchor=_anchor(place, base, anchors),
                gaps=plural(len(spent[place]), "gap"),
                time=duration(sum(spent[place]) / 1000),
                share=percent(sum(spent[place]) / found["steps"][-1]),
                cost=duration(costs[place]) if place and place in costs else "",
            ),
        )
        for place in ordered[: len(_LETTERS)]
    ]


def _anchor(place: _Place | None, base: str, anchors: Mapping[str, str]) -> str:
    file = anchors.get(real(place[0], base), "") if place else ""
    return f"{file}-{place[1]}" if file and place else ""


def _gap(gap: Sequence[int], whole: int, cause: Cause | None) -> Gap:
    start, spent = gap[:2]
    letter = cause.letter if cause is not None else ""
    after = f" after the wait at {cause.place}" if cause is not None and letter else ""
    return Gap(WIDTH * start / whole, WIDTH * spent / whole, letter, f"idle for {duration(spent / 1000)}{after}")


def _lettered(gaps: Sequence[Gap]) -> tuple[Gap, ...]:
    """The gaps without the letters for which longer ones leave no room."""
    taken: list[float] = []
    kept: set[float] = set()
    for gap in sorted(gaps, key=lambda gap: -gap.width):
        if gap.letter and all(abs(gap.middle - other) >= _ROOM for other in taken):
            taken.append(gap.middle)
            kept.add(gap.x)
    return tuple(gap if gap.x in kept else gap._replace(letter="") for gap in gaps)
