"""Waits that torch has only mentioned, told apart by what they were for.

On a GPU, torch says that a call has waited, and not what for. What profiled steps show of a line is taken for the whole
run: which part of its waits were copies, and how large these were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

_Figures = Sequence[int]  # a number of events, their bytes, and nanoseconds


class _Part(NamedTuple):
    """Copies among the waits of a line: their part of all, the bytes of one, and what distinguishes them."""

    kind: str
    part: float
    bytes: float
    facts: Mapping[str, Any]

    def of(self, figures: _Figures) -> list[int]:
        """The figures of the copies among some waits."""
        number = round(figures[0] * self.part)
        return [number, round(number * self.bytes), 0]


def told_apart(events: Sequence[dict[str, Any]], blocked: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The events of a process, in which waits that were copies to the device or to the host are such copies.

    ``blocked`` is what the profile says, None if there is none.
    """
    parts = _parts(blocked)
    found = []
    for event in events:
        known = parts.get(tuple(event["site"])) if event["kind"] == "sync" else None
        if known is None:
            found.append(event)
            continue
        made = [{**_with(event, one.of), "kind": one.kind, "facts": one.facts, "each": None} for one in known]
        rest = _with(event, partial(_less, parts=known))
        if event["facts"].get("why") == "index":  # of which the profile shows that they were no copies
            rest["facts"] = {**event["facts"], "why": "stream"}
        found += [one for one in [*made, rest] if one["count"]]
    return found


def _parts(blocked: Mapping[str, Any] | None) -> dict[tuple[Any, ...], list[_Part]]:
    waits: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for line in (blocked or {}).get("lines", ()):
        if line["mentioned"]:
            waits.setdefault(tuple(line["site"]), []).append(line)
    found = {}
    for site, lines in waits.items():
        every = sum(line["count"] for line in lines)
        found[site] = [
            _Part(line["kind"], line["count"] / every, line["bytes"] / line["count"], _facts(line))
            for line in lines
            if line["kind"] != "sync"
        ]
    return found


def _facts(line: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of such copies: those that a backward pass repeats belong to other lines than its call."""
    how = "derivative" if line["beside"] else "index"
    return {"how": how, "pinned": line["pinned"], "non_blocking": False}


def _less(figures: _Figures, parts: Sequence[_Part]) -> list[int]:
    """The figures of the waits that were no copies."""
    return [max(figures[0] - sum(part.of(figures)[0] for part in parts), 0), *figures[1:]]


def _with(event: Mapping[str, Any], changed: Callable[[_Figures], list[int]]) -> dict[str, Any]:
    """An event with other figures."""
    count, size, ns = changed((event["count"], event["bytes"], event["ns"]))
    phases = {phase: changed(figures) for phase, figures in event["phases"].items()}
    return {**event, "count": count, "bytes": size, "ns": ns, "steady": changed(event["steady"]), "phases": phases}
