"""``scripts/gpu_check.py``: its verdicts on differences, its time limits, and a run on the simulated device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from scripts import gpu_check, gpu_parts

SCRIPT = Path(gpu_check.__file__)


def given(status: str, basis: str = "counted") -> dict[str, str]:
    return {"status": status, "reason": "why", "basis": basis}


@pytest.mark.parametrize(
    ("expected", "found", "verdict"),
    [
        ("confirmed", given("refuted", "measured"), "measured"),
        ("confirmed", given("refuted"), "fault"),
        ("refuted", given("confirmed", "measured"), "fault"),
        ("confirmed", given("unknown"), "undecided"),
        ("confirmed", None, "fault"),
    ],
)
def test_a_verdict_that_differs_is_judged(expected: str, found: dict[str, Any] | None, verdict: str) -> None:
    assert gpu_parts.judged(expected, found, "# TL301 why")[0] == verdict


def test_costs_that_do_not_matter_elsewhere_may_matter_here() -> None:
    line = '# TL301 refuted "it happens rarely" "is below 1 us"'
    assert gpu_parts.judged("refuted", given("confirmed", "measured"), line)[0] == "measured"
    assert gpu_parts.judged("refuted", given("confirmed"), line)[0] == "fault"


@pytest.mark.parametrize(("counted", "own", "verdict"), [(1, 0, "fault"), (0, 1, "undecided"), (-1, 1, "undecided")])
def test_a_count_that_differs_is_judged(counted: int, own: int, verdict: str) -> None:
    assert gpu_parts.account_differs(counted, own)[0] == verdict


def test_what_cannot_be_right_on_a_device_is_a_fault() -> None:
    row = [[0, 40]]
    rows = {"host": row, "compute": row, "HtoD": row, "DtoH": row}
    right = {"steps": [50, 100], "busy_ns": 40, "rows": rows, "gaps": [[40, 60, 0]]}
    assert gpu_parts.impossible(right) == ""
    assert gpu_parts.impossible({**right, "busy_ns": 101}).startswith("busy for longer than the steps took")
    assert gpu_parts.impossible({**right, "busy_ns": 41}) == "busy and idle for longer than the steps took"
    assert gpu_parts.impossible({**right, "gaps": [[40, 60, None]]}) == "no gap after a line"
    assert gpu_parts.impossible({**right, "rows": {**rows, "host": [[90, 20]]}}) == "an interval outside of the steps"
    assert gpu_parts.impossible({**right, "rows": {**rows, "compute": []}}) == "no interval of computing"


def test_forms_are_compared_with_an_interval() -> None:
    slow, same = [2.0, 4.0, 6.2] * 9, [1.0, 2.0, 3.1] * 9
    assert gpu_parts.ratio(slow, same) == {"ratio": 2.0, "low": pytest.approx(2.0), "high": pytest.approx(2.0)}
    assert gpu_parts.slower({"ratio": 1.01, "low": 0.97, "high": 1.04})[0] == "measured"
    assert gpu_parts.slower({"ratio": 0.5, "low": 0.4, "high": 0.6})[0] == "fault"


def test_a_part_that_takes_too_long_is_ended() -> None:
    found = gpu_check.run("programs", "sim", 0.2)
    assert found == {"failed": "took longer than 0.2 seconds", "differences": []}
    assert gpu_check.faults({"parts": {"programs": found}}) == 1


@pytest.mark.slow
def test_it_runs_to_its_end_on_the_simulated_device(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--on", "sim", "--output", str(tmp_path / "found.json")]
    done = subprocess.run(
        [*command, "--only", "features", "claims", "cells"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = json.loads((tmp_path / "found.json").read_text("utf-8"))["parts"]
    assert set(parts["features"]) > {"amp", "compiled", "graphs", "nccl", "workers"}
    assert [one["what"] for one in parts["features"]["differences"]] == ["graphs"]
    assert parts["features"]["copies"]["upload"] == 32
    forms = parts["claims"]["forms"]["sync-in-hot-loop"]
    assert forms["slow"]["waits"] > forms["fast"]["waits"] == 0
    assert "| claims | " in done.stdout
