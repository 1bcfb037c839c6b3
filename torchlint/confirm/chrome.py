"""The sampled trace in Chrome's trace event format, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from torchlint.confirm.evidence import Run

_STEPS, _HOST = 1, 2


def document(run: Run) -> str:
    """The sampled steps one after the other, as JSON: a row for steps, and one for what happened on the host."""
    events = [*_names(run)]
    start = 0.0
    for sample in run.trace["steps"]:
        events += _step(sample, run.trace["sites"], start)
        start += _length(sample) / 1000
    shown = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": _about(run)}
    return json.dumps(shown, ensure_ascii=True, indent=0) + "\n"


def _about(run: Run) -> dict[str, Any]:
    simulated = "times include the simulation, and say nothing of a GPU" if run.mode == "sim" else None
    return {
        "torch": run.torch,
        "device": run.device,
        "mode": run.mode,
        "times": simulated or "measured on the host",
        "events left out": run.trace["dropped"],
    }


def _names(run: Run) -> Iterator[dict[str, Any]]:
    title = "simulated GPU: times include the simulation" if run.mode == "sim" else run.device or "CPU"
    for thread, kind, name in (
        (0, "process_name", title),
        (_STEPS, "thread_name", "steps"),
        (_HOST, "thread_name", "host"),
    ):
        yield {"ph": "M", "pid": 1, "tid": thread, "name": kind, "args": {"name": name}}


def _step(sample: dict[str, Any], sites: Sequence[Sequence[Any]], start: float) -> Iterator[dict[str, Any]]:
    name = f"step {sample['step']} ({sample['phase']})"
    yield _slice(name, sample["phase"], _STEPS, start, _length(sample) / 1000)
    for begun, spent, kind, number, size in sample["entries"]:
        site = sites[number] if number < len(sites) else ("", 0)
        at = f"{os.path.basename(site[0])}:{site[1]}" if site[0] else "in a library"
        entry = _slice(f"{kind} {at}", kind, _HOST, start + begun / 1000, spent / 1000)
        entry["args"] = {"file": site[0], "line": site[1], "bytes": size}
        yield entry


def _length(sample: dict[str, Any]) -> int:
    """The nanoseconds from the beginning of a step to its end, including an evaluation in between."""
    ends = [int(begun + spent) for begun, spent, *_ in sample["entries"]]
    return max([int(sample["ns"]), *ends])


def _slice(name: str, category: str, thread: int, start: float, microseconds: float) -> dict[str, Any]:
    """A complete event; an instant one if its duration is not known."""
    shared = {"name": name, "cat": category, "pid": 1, "tid": thread, "ts": start}
    return {**shared, "ph": "X", "dur": microseconds} if microseconds else {**shared, "ph": "i", "s": "t"}
