"""What was measured, as it is stored and as a table."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gains.programs import ORIGINAL, PATCHED, SAFE, UNSAFE
from torchlint.confirm.compare import interval
from torchlint.report.figures import duration

AGAIN = "again"
TITLES = {
    AGAIN: "original again",
    SAFE: "safe fixes",
    UNSAFE: "safe and unsafe fixes",
    PATCHED: "what the warnings say",
}
_SCHEMA = 1


def save(record: Mapping[str, Any], path: Path) -> None:
    """Store what was measured so far, so that a stop at any time leaves a whole file."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"schema": _SCHEMA, **record}, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def ratios(program: Mapping[str, Any], variant: str) -> list[float]:
    """The times of a variant, each divided by that of the original of the same round."""
    times = {(one["round"], one["variant"]): one["step_us"] for one in program["measurements"]}
    return [
        spent / times[at, ORIGINAL] for (at, of), spent in times.items() if of == variant and (at, ORIGINAL) in times
    ]


def table(record: Mapping[str, Any]) -> str:
    """All of it as Markdown."""
    programs = record["programs"]
    devices = sorted({one["device"] for program in programs.values() for one in program["measurements"]})
    on = f"{' and '.join(devices) or 'nothing was measured'}; torch {record['torch']}, Python {record['python']}"
    sizes = ", small sizes" if record["small"] else ""
    lines = [
        f"| program | warnings | {ORIGINAL} | {' | '.join(TITLES.values())} | other results |",
        f"|{' --- |' * (len(TITLES) + 4)}",
        *(_row(name, program) for name, program in programs.items()),
        "",
        f"{on}, {record['date']}; whole rounds: {record['rounds']}{sizes}.",
        *_failures(programs),
    ]
    return "\n".join(lines)


def _row(name: str, program: Mapping[str, Any]) -> str:
    warnings = ", ".join(f"{rule} x{count}" if count > 1 else rule for rule, count in program["warnings"].items())
    steps = [one["step_us"] for one in program["measurements"] if one["variant"] == ORIGINAL]
    original = duration(statistics.median(steps)) if steps else "failed"
    cells = [name, warnings or "none", original, *(_cell(program, variant) for variant in TITLES), _others(program)]
    return f"| {' | '.join(cells)} |"


def _cell(program: Mapping[str, Any], variant: str) -> str:
    same = program["same"].get(variant)
    if same is not None:
        return f"as {TITLES.get(same, same)}"
    found = ratios(program, variant)
    if not found:
        return "failed" if {variant, ORIGINAL} & {*program["failed"]} else "not measured"
    logs = [math.log(ratio) for ratio in found]
    low, high = map(math.exp, interval(logs))
    return f"{math.exp(statistics.median(logs)):.2f} [{low:.2f}, {high:.2f}]"


def _others(program: Mapping[str, Any]) -> str:
    """The variants after whose steps the parameters are not those of the original, and how far they are from them."""
    weights = {(one["round"], one["variant"]): one["weight"] for one in program["measurements"]}
    found = []
    for variant, title in TITLES.items():
        away = [
            abs(weight / weights[at, ORIGINAL] - 1)
            for (at, of), weight in weights.items()
            if of == variant and weights.get((at, ORIGINAL))
        ]
        if max(away, default=0.0):
            found.append(f"{title} ({max(away):.0e})")
    return ", ".join(found) or "none"


def _failures(programs: Mapping[str, Any]) -> Iterator[str]:
    for name, program in programs.items():
        for variant, reason in program["failed"].items():
            yield f"{name}, {TITLES.get(variant, variant)}: {reason}"
