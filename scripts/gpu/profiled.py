"""When the device was busy in a few profiled steps of a program."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.gpu.common import ROOT, Row, Settings, differs, ran


def timeline(settings: Settings, _: Iterator[str]) -> Iterator[Row]:
    """The busy intervals and gaps of a program that reads its loss."""
    from torchlint.confirm import evidence

    program = str(ROOT / "scripts" / "gpu_programs" / "reading.py")
    options = [
        "--isolated",
        "--fail-on",
        "never",
        "--on",
        settings.mode,
        "--profile-steps",
        "20",
        "--evidence",
        "evidence",
    ]
    with tempfile.TemporaryDirectory() as folder:
        done = ran(["-m", "torchlint", "confirm", *options, "--", program], folder)
        stored = Path(folder, "evidence")
        if not (stored / "order.json").exists():
            yield differs("timeline", "fault", done.stderr[-200:])
            return
        run = evidence.read(str(stored), json.loads((stored / "order.json").read_text("utf-8"))["run"])
    found = (run.profiled or {}).get("device")
    why = impossible(found) if found is not None else "; ".join(run.notes) or "nothing was profiled"
    yield {"device": found, **(differs("timeline", "fault", why) if why else {})}


def impossible(found: Mapping[str, Any]) -> str:
    """What cannot be right in the busy intervals of a device; empty if all can."""
    whole = found["steps"][-1]
    gaps = sum(spent for _, spent, _ in found["gaps"])
    problems = {
        "no interval of computing": not found["rows"]["compute"],
        "no copy in one of the directions": not (found["rows"]["HtoD"] and found["rows"]["DtoH"]),
        "no wait on the host": not found["rows"]["host"],
        "busy for longer than the steps took": found["busy_ns"] > whole,
        "busy and idle for longer than the steps took": found["busy_ns"] + gaps > whole,
        "an interval outside of the steps": any(
            start + spent > whole for row in found["rows"].values() for start, spent in row
        ),
        "no gap after a line": not any(site is not None for *_, site in found["gaps"]),
    }
    return "; ".join(problem for problem, there in problems.items() if there)
