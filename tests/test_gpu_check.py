"""``scripts/gpu_check.py``: its verdicts, what it keeps however it ends, and runs on the simulated device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from scripts.gpu import accounts, battery, common, observed, profiled, report, schedule, tasks, times, verdicts
from scripts.gpu.common import Part, Row, Settings
from scripts.gpu.schedule import Schedule
from tests import gpu_scripted


def given(status: str, basis: str = "counted") -> dict[str, str]:
    return {"status": status, "reason": "why", "basis": basis}


# -- verdicts on differences -----------------------------------------------------------------------


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
    assert verdicts.judged(expected, found, "# TL301 why")[0] == verdict


def test_costs_that_do_not_matter_elsewhere_may_matter_here() -> None:
    line = '# TL301 refuted "it happens rarely" "is below 1 us"'
    assert verdicts.judged("refuted", given("confirmed", "measured"), line)[0] == "measured"
    assert verdicts.judged("refuted", given("confirmed"), line)[0] == "fault"


def test_each_mark_of_a_program_is_compared_with_the_verdict_of_its_line() -> None:
    text = 'a  # TL301 confirmed "1"\nb  # TL202 refuted "2"\nc\n'
    row = verdicts.judged_all("one/two.py", text, [{"rule": "TL301", "line": 1, **given("confirmed")}])
    assert row["same"] == 1
    assert row["differences"] == [{"what": "two.py:2 TL202 refuted", "verdict": "fault", "why": "no verdict"}]


def test_verdicts_on_the_device_and_on_the_simulated_one_are_compared() -> None:
    here = {"a.py:1 TL301": given("confirmed"), "a.py:2 TL202": given("refuted", "measured")}
    row = observed.beside("a.py", here, {place: given("confirmed") for place in here})
    assert (row["equal"], row["different"]) == (1, 1)
    assert row["a.py"] == {"equal": 1, "different": 1}
    assert row["differences"][0]["verdict"] == "measured"
    assert "refuted: why (simulated: confirmed: why)" in row["differences"][0]["why"]


def test_a_verdict_that_only_one_device_has_is_a_difference() -> None:
    place = {"a.py:1 TL301": given("confirmed")}
    assert observed.beside("a.py", place, {})["differences"][0]["verdict"] == "undecided"
    assert observed.beside("a.py", {}, place)["differences"][0]["verdict"] == "fault"


@pytest.mark.parametrize(("counted", "own", "verdict"), [(1, 0, "fault"), (0, 1, "undecided"), (-1, 1, "undecided")])
def test_a_count_that_differs_is_judged(counted: int, own: int, verdict: str) -> None:
    assert accounts.account_differs(counted, own)[0] == verdict


def test_what_cannot_be_right_on_a_device_is_a_fault() -> None:
    row = [[0, 40]]
    rows = {"host": row, "compute": row, "HtoD": row, "DtoH": row}
    right = {"steps": [50, 100], "busy_ns": 40, "rows": rows, "gaps": [[40, 60, 0]]}
    assert profiled.impossible(right) == ""
    assert profiled.impossible({**right, "busy_ns": 101}).startswith("busy for longer than the steps took")
    assert profiled.impossible({**right, "busy_ns": 41}) == "busy and idle for longer than the steps took"
    assert profiled.impossible({**right, "gaps": [[40, 60, None]]}) == "no gap after a line"
    assert profiled.impossible({**right, "rows": {**rows, "host": [[90, 20]]}}) == "an interval outside of the steps"
    assert profiled.impossible({**right, "rows": {**rows, "compute": []}}) == "no interval of computing"


def test_forms_are_compared_with_an_interval() -> None:
    slow, same = [2.0, 4.0, 6.2] * 9, [1.0, 2.0, 3.1] * 9
    assert times.ratio(slow, same) == {"ratio": 2.0, "low": pytest.approx(2.0), "high": pytest.approx(2.0)}
    assert times.slower({"ratio": 1.01, "low": 0.97, "high": 1.04})[0] == "measured"
    assert times.slower({"ratio": 0.5, "low": 0.4, "high": 0.6})[0] == "fault"


def test_what_takes_long_is_timed_in_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    works = {"slow": lambda: None, "fast": lambda: None}
    assert {name: len(spent) for name, spent in times.turns(works).items()} == {"slow": 25, "fast": 25}
    monkeypatch.setattr(times, "_LONG_US", 0)
    assert {name: len(spent) for name, spent in times.turns(works).items()} == {"slow": 9, "fast": 9}


# -- probes ----------------------------------------------------------------------------------------


def probe(waits: int, warned: int, calls: dict[str, int]) -> Row:
    return battery.compared("p", warned, calls, {"waits": waits, "uploads": 0, "downloads": 0})


def test_a_wait_of_a_probe_that_the_simulation_lacks_is_a_fault_if_the_profiler_agrees() -> None:
    row = probe(0, 1, {"cudaStreamSynchronize": 1})
    assert row["differences"][0]["verdict"] == "fault"
    assert row["probes"]["p"]["calls"] == {"cudaStreamSynchronize": 1}
    assert probe(0, 1, {"cudaStreamSynchronize": 2})["differences"][0]["verdict"] == "undecided"
    assert probe(2, 1, {"cudaStreamSynchronize": 1})["differences"][0]["verdict"] == "undecided"


def test_waits_that_torch_warns_of_or_the_profiler_shows_are_no_difference() -> None:
    assert set(probe(1, 1, {"cudaStreamSynchronize": 3})) == {"totals"}
    assert set(probe(1, 0, {"cudaDeviceSynchronize": 1})) == {"totals"}


def test_uploads_of_a_probe_are_compared() -> None:
    assert probe(0, 0, {"Memcpy HtoD (Pageable -> Device)": 2})["uploads"] == {"p": "2, simulated 0"}


def test_runtime_calls_belong_to_the_probe_in_whose_range_they_begin() -> None:
    def event(cat: str, name: str, ts: float, **arguments: int) -> dict[str, Any]:
        return {"cat": cat, "name": name, "ts": ts, "dur": 10, "args": arguments}

    events = [
        event("user_annotation", "probe: b", 20),
        event("user_annotation", "probe: a", 0),
        event("gpu_user_annotation", "probe: a", 3),
        event("cuda_runtime", "cudaMemcpyAsync", 1, correlation=7),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 25, correlation=7),
        event("cuda_runtime", "cudaStreamSynchronize", 2, correlation=8),
        event("cuda_runtime", "cudaLaunchKernel", 3, correlation=9),
        event("cuda_runtime", "cudaStreamSynchronize", 15, correlation=10),
        event("cuda_driver", "cuStreamSynchronize", 21, correlation=11),
    ]
    assert battery.runtime_calls(events) == {
        "a": {"Memcpy DtoH (Device -> Pageable)": 1, "cudaStreamSynchronize": 1},
        "b": {"cuStreamSynchronize": 1},
    }


def test_probes_are_profiled_by_name() -> None:
    assert battery._profiled(["operations.identity", "waits.convolution"]).keys() == {
        "operations.identity",
        "waits.convolution",
    }


def test_the_simulation_tells_what_a_probe_does_and_which_it_cannot_run() -> None:
    found = accounts.simulate(["operations.identity", "no such probe"])
    assert found["operations.identity"]["waits"] >= 1
    assert found["operations.identity"]["uploads"] == 1
    assert found["no such probe"]["error"].startswith("KeyError")


# -- runs ------------------------------------------------------------------------------------------


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: list[str], together: bool = True, whole: bool = False
) -> Row:
    """What is found of a part whose processes do what the names of their items say."""
    monkeypatch.setattr(tasks, "CHECK", Path(gpu_scripted.__file__))
    part = Part(lambda _: items, gpu_scripted.scripted, 60.0, together=together, whole=whole)
    found: dict[str, Row] = {}
    schedule.Schedule(Settings("sim"), found, lambda: None, str(tmp_path), None).run({"part": part})
    return found["part"]


def test_an_item_that_ends_its_process_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(tmp_path, monkeypatch, ["one", "crashes", "two", "fails", "three"])
    assert list(found["known"]) == ["one", "crashes", "two", "fails", "three"]
    assert found["same"] == 5
    wrong = [(one["what"], one["verdict"]) for one in found["differences"]]
    assert wrong == [("crashes", "failed"), ("fails", "failed")]
    assert found["differences"][0]["why"].startswith("status 7")
    assert found["differences"][1]["why"].endswith("ValueError: no such thing")
    assert report.faults({"parts": {"part": found}}) == 2


def test_what_needs_all_its_items_begins_again_without_the_one_that_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(tmp_path, monkeypatch, ["one", "crashes", "two"], whole=True)
    assert list(found["known"]) == ["one", "crashes", "two"]
    assert found["same"] == 4  # the first one once more
    assert [one["what"] for one in found["differences"]] == ["crashes"]


@pytest.mark.parametrize("whole", [True, False])
def test_an_end_after_the_last_item_is_no_fault_of_the_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    found = run(tmp_path, monkeypatch, ["one", "last"], whole=whole)
    assert [one["what"] for one in found["differences"]] == ["part"]
    assert found.get("left", []) == (["one", "last"] if whole else [])


def test_a_part_that_cannot_begin_is_named_with_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(tmp_path, monkeypatch, ["one", "nothing"])
    assert found["differences"] == [common.difference("part", "failed", "status 1: cannot begin")]
    assert found["left"] == ["one", "nothing"]


def test_what_is_known_when_no_time_is_left_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "_over", lambda self: "hangs" in self._found["part"].get("known", {}))
    found = run(tmp_path, monkeypatch, ["one", "hangs", "two"])
    assert list(found["known"]) == ["one", "hangs"]
    assert found["left"] == ["hangs", "two"]
    assert found["differences"] == []
    whole = {"device": None, "torch": "2", "date": "today", "mode": "sim", "parts": {"part": found}}
    assert "- no time left for: part: hangs, two" in report.summary(whole)


@pytest.mark.parametrize("together", [True, False])
def test_what_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    monkeypatch.setattr(tasks.Task, "late", lambda self: self.doing == "hangs")
    found = run(tmp_path, monkeypatch, ["hangs", "one"], together)
    assert [(one["what"], one["verdict"]) for one in found["differences"]] == [("hangs", "failed")]
    assert found["differences"][0]["why"].startswith("took longer than ")
    assert found.get("left", []) == ([] if together else ["one"])  # parts that time have used up their time
    assert ("one" in found["known"]) is together


def test_what_runs_beside_others_has_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert run(tmp_path, monkeypatch, ["one"], together=True)["known"] == {"one": "1"}
    assert run(tmp_path, monkeypatch, ["one"], together=False)["known"] == {"one": "5"}


def test_the_path_of_modules_of_the_caller_is_handed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/elsewhere", "here"]))
    path = common.environment()["PYTHONPATH"].split(os.pathsep)
    assert path == [str(common.ROOT), "/elsewhere", str(tmp_path / "here")]


def test_the_file_is_always_whole(tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    report.save({"parts": {}}, target)
    report.save({"parts": {"one": {}}}, target)
    assert json.loads(target.read_text("utf-8")) == {"parts": {"one": {}}}
    assert list(tmp_path.iterdir()) == [target]


def check(tmp_path: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    target = tmp_path / "found.json"
    command = [sys.executable, str(common.CHECK), "--on", "sim", "--output", str(target), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    parts: dict[str, Any] = json.loads(target.read_text("utf-8"))["parts"]
    return done, parts


@pytest.mark.exhaustive
def test_it_runs_to_its_end_on_the_simulated_device(tmp_path: Path) -> None:
    done, parts = check(tmp_path, "--only", "features", "claims", "cells")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(parts["features"]) > {"amp", "compiled", "graphs", "nccl", "workers"}
    assert [one["what"] for one in parts["features"]["differences"]] == ["graphs"]
    assert parts["features"]["copies"]["upload"] == 32
    forms = parts["claims"]["forms"]["sync-in-hot-loop"]
    assert forms["slow"]["waits"] > forms["fast"]["waits"] == 0
    assert "| claims | " in done.stdout


@pytest.mark.exhaustive
def test_programs_of_the_command_line_and_workers_are_compared(tmp_path: Path) -> None:
    program = str(common.ROOT / "scripts" / "gpu_programs" / "reading.py")
    done, parts = check(tmp_path, "--only", "given", "workers", "--programs", f"'{program}' --epochs 1", "missing.py")
    row = parts["given"][f"'{program}' --epochs 1"]
    assert row["status"] == 0
    assert row["equal"] == sum(row["verdicts"].values()) == parts["given"]["equal"] > 0
    wrong = {one["what"]: one["verdict"] for one in parts["given"]["differences"]}
    assert wrong == {"missing.py": "undecided"}
    assert done.returncode == 0
    assert {row["bare"] for name, row in parts["workers"].items() if " " in name} == {0}
    assert parts["workers"]["differences"] == []
