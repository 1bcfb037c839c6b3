"""Traces that torch.profiler wrote on a GPU, of a program whose waits and copies are known by line."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.recordings import DEVICE, Event, document, event, python
from torchlint.cli.main import main
from torchlint.model import Observed
from torchlint.trace.files import Files
from torchlint.trace.idle import Starved, Waits
from torchlint.trace.reading import Read, read

# NVIDIA H200, PyTorch 2.11.0 with CUDA 13.0: three steps with batches from pageable memory, and three with pinned ones.
# `trace_rec.py` made them; of their events, what torchlint has no use for was left out.
RECORDED = Path(__file__).parent / "recorded_traces"
PROGRAM = str(RECORDED / "trace_rec.py")
UP, DOWN = "pageable-upload", "pageable-download"
# What really happens in each step; both also wait once for data, at line 36.
TRUTH = {
    "pageable": {
        17: [UP, "wait"],
        18: [UP],
        19: [UP, "wait"],
        26: ["wait"],
        27: ["wait"],
        30: ["wait"],
        31: [DOWN, "wait"],
    },
    "pinned": {17: ["wait"], 19: [UP, "wait"], 26: ["wait"], 27: ["wait"], 30: ["wait"], 31: [DOWN, "wait"]},
}


def recorded(name: str) -> Read:
    files = Files([PROGRAM], lambda path: Path(path).read_text(encoding="utf-8"))
    return read(str(RECORDED / f"{name}.json.gz"), files)


def raw(name: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))[
        "traceEvents"
    ]
    return events


@pytest.mark.parametrize("name", TRUTH)
def test_every_wait_and_copy_is_at_its_line_and_no_other_has_any(name: str) -> None:
    seen = recorded(name).observed
    assert all(not one.lines and not one.function for one in seen)  # each line is certain
    expected = {(line, kind): 1.0 for line, kinds in TRUTH[name].items() for kind in kinds} | {(36, "data"): 1.0}
    assert {(one.line, one.kind): one.times / one.steps for one in seen} == expected


@pytest.mark.parametrize("name", TRUTH)
def test_the_truth_is_what_the_events_of_the_recording_say(name: str) -> None:
    called = Counter(each["name"] for each in raw(name) if each["cat"] == "cuda_runtime")
    waits = sum(kinds.count("wait") for kinds in TRUTH[name].values())
    assert called["cudaStreamSynchronize"] == 3 * waits  # none in the optimizer, and none in `clip_grad_norm_`
    copied = Counter(each["name"] for each in raw(name) if each["cat"] == "gpu_memcpy")
    assert copied["Memcpy HtoD (Pageable -> Device)"] == 3 * sum(UP in kinds for kinds in TRUTH[name].values())
    assert copied["Memcpy DtoH (Device -> Pageable)"] == 3


@pytest.mark.parametrize("name", TRUTH)
def test_a_step_that_is_annotated_on_host_and_device_is_one(name: str) -> None:
    annotated = Counter(each["cat"] for each in raw(name) if each["name"].startswith("ProfilerStep#"))
    assert annotated == {"user_annotation": 3, "gpu_user_annotation": 3}
    assert recorded(name).recording.steps == 3


@pytest.mark.parametrize("name", TRUTH)
def test_gaps_are_part_of_the_waits_that_caused_them_and_of_no_other_line(name: str) -> None:
    recording, seen = recorded(name)
    assert "idle" not in {one.kind for one in seen}
    totals = {kind: time for kind, _, time in recording.totals}
    assert 0 < recording.idle_us < totals["idle"] / 2  # the host is slower than this GPU
    assert all(0 < one.idle_us <= one.microseconds * 1.000001 for one in seen)
    assert sum(one.idle_us for one in seen) == pytest.approx(recording.idle_us)


def test_the_report_says_what_each_line_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "torchlint.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main(["trace_rec.py", "--no-cache", "--from-trace", str(RECORDED / "pageable.json.gz")])
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "1 copy to the device from pageable memory a step, 367 us (4.1 %); the GPU was idle for 240 us because" in text
    )
    assert "trace_rec.py:36: 1 wait for data a step, 1.77 ms (20 %); the GPU was idle for 1.07 ms because of it" in text
    assert "waits and copies left the GPU idle for 1.41 ms a step (16 %), and the rest of its gaps is the time" in text
    assert "gap" not in text.partition("pageable.json.gz (trace")[0]


# -- what decides between lines --------------------------------------------------------------------------

MOVES = """\
def move(x, y, fast, device):
    if fast:
        x = x.to(device, non_blocking=True)
    else:
        x = x.to(device)
    if y is not None:
        y = y.to("cpu")
"""


def moved(folder: Path, copy: str, *, waits: bool) -> Observed:
    """What is said of a copy in a call of `to`, of which the order decides nothing."""
    (folder / "moves.py").write_text(MOVES, encoding="utf-8")
    events: list[Event] = [
        python("moves.py(1): move", 0, 100),
        python("<built-in method to of Tensor object at 0x7f00>", 10, 50),
        event("cuda_runtime", "cudaMemcpyAsync", 12, 20, correlation=1),
        event("gpu_memcpy", f"Memcpy {copy}", 15, 10, DEVICE, correlation=1),
        *([event("cuda_runtime", "cudaStreamSynchronize", 40, 5, correlation=2)] if waits else []),
    ]
    (folder / "t.json").write_text(document(events), encoding="utf-8")
    files = Files([str(folder / "moves.py")], lambda path: Path(path).read_text(encoding="utf-8"))
    (seen,) = (one for one in read(str(folder / "t.json"), files).observed if one.kind != "wait")
    return seen


def test_a_copy_without_a_wait_behind_it_was_asynchronous(tmp_path: Path) -> None:
    seen = moved(tmp_path, "HtoD (Pageable -> Device)", waits=False)
    assert (seen.line, seen.lines) == (3, ())


def test_a_copy_with_a_wait_behind_it_was_not_asynchronous(tmp_path: Path) -> None:
    seen = moved(tmp_path, "HtoD (Pageable -> Device)", waits=True)
    assert (seen.line, seen.lines) == (5, ())


def test_what_neither_kind_nor_order_decides_has_all_lines(tmp_path: Path) -> None:
    assert moved(tmp_path, "DtoH (Device -> Pageable)", waits=True).lines == (3, 5, 7)


# -- which waits leave the GPU idle ----------------------------------------------------------------------


def test_a_gap_that_begins_long_after_a_wait_is_not_longer_because_of_it_than_the_wait_took() -> None:
    waits = Waits([("main", 10.0, 5.0)])
    assert waits.caused([Starved(0.0, 500.0, 400.0, ["main"])]) == [5.0]


def test_a_wait_that_took_longer_than_the_gap_caused_all_of_it() -> None:
    waits = Waits([("main", 10.0, 9000.0)])
    assert waits.caused([Starved(0.0, 9080.0, 70.0, ["main"])]) == [70.0]


def test_a_gap_without_a_wait_is_caused_by_none_and_neither_are_waits_elsewhere() -> None:
    waits = Waits([("main", 10.0, 5.0), ("logger", 60.0, 5.0)])
    assert waits.caused([Starved(50.0, 500.0, 400.0, ["main"])]) == [0.0, 0.0]


def test_the_wait_next_to_a_gap_caused_it_before_earlier_ones() -> None:
    waits = Waits([("main", 10.0, 100.0), ("main", 120.0, 30.0)])
    assert waits.caused([Starved(0.0, 200.0, 50.0, ["main"])]) == [20.0, 30.0]


# -- traces of the CPU -----------------------------------------------------------------------------------

ADAM = """import torch
from torch.profiler import ProfilerActivity, profile, schedule

class Numbers(torch.utils.data.Dataset):
    def __init__(self):
        self.targets = torch.randint(0, 4, (64,))

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return torch.randn(8), self.targets[index].item()

def train(model, loader, optimizer, profiler):
    for inputs, targets in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if norm > 100:
            print(loss.item())
        loss.item()
        profiler.step()

def run(optimizer):
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, shuffle=True)
    plan = schedule(wait=1, warmup=1, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, schedule=plan) as profiler:
        train(model, loader, optimizer(model.parameters(), lr=0.1), profiler)
    profiler.export_chrome_trace(f"{optimizer.__name__}.json.gz")

run(torch.optim.Adam)
run(torch.optim.ASGD)
"""


def test_what_optimizers_and_loaders_read_on_the_host_would_not_wait_on_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "adam.py").write_text(ADAM, encoding="utf-8")
    done = warm.run([sys.executable, "-m", "adam"], tmp_path, os.environ)
    assert done.returncode == 0, done.stderr
    files = Files([str(tmp_path / "adam.py")], lambda path: Path(path).read_text(encoding="utf-8"))
    reads = {}
    for name in ("Adam", "ASGD"):
        recording, seen = read(str(tmp_path / f"{name}.json.gz"), files)
        reads[name] = {(one.line, one.lines): one.times / one.steps for one in seen if one.kind == "read"}
        assert recording.steps == 3
    assert reads["Adam"] == {(20, ()): 1.0, (22, ()): 1.0}
    # ASGD keeps the step size beside the parameters, and reads it for each of them.
    assert reads["ASGD"].pop((19, ())) > 0
    assert reads["ASGD"] == reads["Adam"]
