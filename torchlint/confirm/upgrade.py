"""Older evidence, in the form of the current schema."""

from __future__ import annotations

from typing import Any


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """Evidence of one process. Schema 1 knew only one training, and counted from the end of its first step."""
    if document["schema"] > 1:
        return document
    steps = document["steps"]
    steady = max(steps["count"] - 1 - steps.get("excluded", 0), 0)
    none = {"count": 0, "steady": 0, "unit": None, "ns": 0, "median_ns": None}
    phases = dict.fromkeys(("before", "training", "evaluation", "after"), none)
    phases["training"] = {
        "count": steps["count"],
        "steady": steady,
        "unit": steps["unit"],
        "ns": (steps["median_ns"] or 0) * steps["count"],
        "median_ns": steps["median_ns"],
    }
    events = [
        {
            **event,
            "phases": {"training": [event["count"], event["bytes"], event["ns"]]},
            "each": None,
            "steps": [],
            "callers": [],
        }
        for event in document["events"]
    ]
    return {
        **document,
        "marks": {name: _mark(mark, steps["count"]) for name, mark in document["marks"].items()},
        "steps": {**steps, "trainings": 1, "phases": phases, "durations": []},
        "events": events,
        "trace": {"sites": [], "dropped": 0, "steps": []},
        "sources": {},
    }


def _mark(mark: dict[str, Any], steps: int) -> dict[str, Any]:
    """A mark: schema 1 knew the time of the first evaluation, and those of all others together."""
    count, ns = mark["begun"], mark["ns"]
    each = (ns - mark["first"]) // (mark["ended"] - 1) if mark["ended"] > 1 else ns
    figures = {
        "count": count,
        "bytes": 0,
        "ns": ns,
        "steady": [count - count // max(steps, 1), 0, ns],
        "phases": {"training": [count, 0, ns]},
        "each": [each, each, each] if ns else None,
        "steps": [],
    }
    return {**mark, "evaluations": figures}
