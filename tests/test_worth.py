"""The benchmark of whole programs: a small one is measured to its end, others fail, and one run is cut off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import worth
from gains import record
from gains.clock import Clock
from gains.programs import ORIGINAL, PATCHED, SAFE, UNSAFE, Program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
_SCRIPT = Path(worth.__file__)
_TRAINING = """
import sys
from pathlib import Path

import torch

from model import made

Path("out").mkdir()
assert Path("data.txt").read_text() == "data"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator, critic = made().to(device), made().to(device)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.zeros(32, 4), batch_size=8)
for epoch in range(int(sys.argv[-1])):
    for noise in loader:
        noise = noise.to(device) + torch.zeros(8, 4).to(device)
        of_critic.zero_grad()
        loss = (critic(noise) - 1).square().mean()
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        loss = (generator(noise) - 1).square().mean()
        loss.backward()
        of_generator.step()
        print(epoch, loss.item())
"""
_MODEL = (
    "from torch import nn\n\n\ndef made():\n    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))\n"
)
_PATCH = """--- a/train.py
+++ b/train.py
@@ -17,2 +17,2 @@
     for noise in loader:
-        noise = noise.to(device) + torch.zeros(8, 4).to(device)
+        noise = noise.to(device) + torch.ones(8, 4, device=device)
"""


def add(folder: Path, name: str, *, variants: bool = False, **fields: Any) -> dict[str, Any]:
    """Add a program, whose fixes are made if ``variants`` are wanted; returns its place in the list."""
    sources = folder / name / ORIGINAL
    sources.mkdir(parents=True)
    (sources / "train.py").write_text(_TRAINING, encoding="utf-8")
    (sources / "model.py").write_text(_MODEL, encoding="utf-8")
    (folder / "data.py").write_text("open('data.txt', 'w').write('data')\n", encoding="utf-8")
    if not variants:
        same = {SAFE: ORIGINAL, UNSAFE: ORIGINAL, PATCHED: ORIGINAL}
        kept = json.dumps({"made": [], "same": same, "warnings": {}})
        (folder / name / "variants.json").write_text(kept, encoding="utf-8")
    about = {"name": name, "repository": "one/two", "commit": "0", "command": ["train.py", "1000"], "data": ["data.py"]}
    return {**about, "steps": 3, "blocks": 2, "warm_up": 2, "settle": 1, **fields}


def write(folder: Path, *programs: dict[str, Any]) -> None:
    (folder / "programs.json").write_text(json.dumps(programs), encoding="utf-8")


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, str(_SCRIPT), str(folder), *options]


def environment() -> dict[str, str]:
    paths = [str(_SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *options), check=False, capture_output=True, text=True, env=environment(), cwd=folder
    )


def stored(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "worth.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One run of three rounds, of which the limit allows one, of three programs, of which two fail."""
    folder = tmp_path_factory.mktemp("worth")
    short = add(folder, "short", command=["train.py", "1"])
    small = {"arguments": ["1000"], "warm_up": 4}
    whole = add(folder, "whole", variants=True, command=["train.py", "fails without --small"], small=small)
    broken = add(folder, "broken")
    write(folder, broken, short, whole)
    (folder / "whole" / "warnings.patch").write_text(_PATCH, encoding="utf-8")
    (folder / "broken" / ORIGINAL / "model.py").write_text("raise RuntimeError('it is broken')\n", encoding="utf-8")
    return folder, run(folder, "--small", "--rounds", "3", "--limit", "0")


Done = tuple[Path, subprocess.CompletedProcess[str]]


def test_every_variant_that_differs_is_measured_once_a_round_and_the_original_twice(done: Done) -> None:
    program = stored(done[0])["programs"]["whole"]
    measured = Counter(one["variant"] for one in program["measurements"])
    assert measured == {ORIGINAL: 1, record.AGAIN: 1, SAFE: 1, PATCHED: 1}
    assert program["same"] == {UNSAFE: SAFE}
    assert program["warnings"] == {"TL104": 1, "TL202": 1, "TL301": 1}
    assert program["failed"] == {}
    assert all(len(one["blocks_us"]) == 2 and one["step_us"] > 0 for one in program["measurements"])


def test_a_variant_with_other_results_is_told_from_one_with_the_same(done: Done) -> None:
    weights = {one["variant"]: one["weight"] for one in stored(done[0])["programs"]["whole"]["measurements"]}
    assert weights[ORIGINAL] == weights[record.AGAIN] == weights[SAFE]
    assert weights[ORIGINAL] != weights[PATCHED]
    row = next(line for line in done[1].stdout.splitlines() if line.startswith("| whole "))
    assert row.split(" | ")[-1].startswith("what the warnings say (")


def test_programs_that_fail_are_named_with_the_reason_and_the_others_go_on(done: Done) -> None:
    folder, ended = done
    assert ended.returncode == 1
    assert "broken, original: RuntimeError: it is broken" in ended.stdout
    assert "short, original: the program ended after 4 steps, and 9 are needed" in ended.stdout
    assert stored(folder)["programs"]["short"]["measurements"] == []


def test_a_limit_stops_after_a_whole_round(done: Done) -> None:
    folder, ended = done
    assert stored(folder)["rounds"] == 1
    assert "stopped after 1 of 3 rounds" in ended.stderr
    assert "whole rounds: 1, small sizes" in ended.stdout


def test_the_table_says_on_what_it_was_measured_and_is_printed_again_from_the_file(done: Done) -> None:
    folder, ended = done
    about = stored(folder)
    assert f"torch {about['torch']}, Python {about['python']}, {about['date']}" in ended.stdout
    assert "CPU (" in ended.stdout
    assert run(folder, "--render").stdout == ended.stdout


def test_what_was_measured_is_kept_when_the_run_is_killed_and_no_process_is_left(tmp_path: Path) -> None:
    write(tmp_path, add(tmp_path, "one", command=["train.py", "100000000"], seconds=600))
    running = subprocess.Popen(
        command(tmp_path, "--rounds", "100000"), env=environment(), cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    try:
        while not (tmp_path / "worth.json").is_file() or not stored(tmp_path)["programs"]["one"]["measurements"]:
            assert running.poll() is None
            time.sleep(0.05)
    finally:
        running.kill()
        running.wait()
    assert run(tmp_path, "--render").stdout.count("| one |") == 1
    left = ["pgrep", "-f", str(tmp_path)]
    while subprocess.run(left, check=False, capture_output=True).stdout:  # hangs if there is one
        time.sleep(0.05)


# -- what needs no process -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_each_variant_has_every_place_equally_often_and_follows_every_other(count: int) -> None:
    rounds = [worth.order(count, number) for number in range(2 * count)]
    places = Counter((place, variant) for one in rounds for place, variant in enumerate(one))
    pairs = Counter(pair for one in rounds for pair in pairwise(one))
    assert {places[place, variant] for place in range(count) for variant in range(count)} == {2}
    assert len({pairs[first, other] for first in range(count) for other in range(count) if first != other}) == 1


class _Gate:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.measured: dict[str, Any] = {}

    def wait(self) -> None:
        self.told.append("pause")

    def deliver(self, measured: dict[str, Any]) -> None:
        self.told.append("end")
        self.measured = measured


class _Optimizer:
    param_groups: tuple[Any, ...] = ()


def test_the_device_is_waited_for_at_the_pause_and_the_ends_of_blocks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = _Gate()
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        synchronize=lambda: gate.told.append("synchronize"),
        get_device_name=lambda: "a GPU",
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    clock = Clock(Program("one", "", "", ["train.py"], steps=2, blocks=2, warm_up=2, settle=1), gate)
    first, other = _Optimizer(), _Optimizer()
    with pytest.raises(StopIteration):  # a real gate does not return from the last one
        for number in range(1, 100):
            gate.told.append(str(number))
            clock.stepped(first)
            clock.stepped(other)
    ends = ["synchronize", "synchronize"]
    assert gate.told == [
        "1",
        "2",
        "synchronize",
        "pause",
        "3",
        "synchronize",
        "4",
        "5",
        *ends,
        "6",
        "7",
        "synchronize",
        "end",
    ]
    assert gate.measured["device"] == "a GPU"
    assert len(gate.measured["blocks_us"]) == 2


def test_ratios_are_to_the_original_of_the_same_round() -> None:
    times = {(0, ORIGINAL): 10.0, (0, SAFE): 5.0, (1, SAFE): 30.0, (1, ORIGINAL): 30.0, (2, SAFE): 1.0}
    measurements = [{"round": at, "variant": of, "step_us": spent} for (at, of), spent in times.items()]
    assert record.ratios({"measurements": measurements}, SAFE) == [0.5, 1.0]
