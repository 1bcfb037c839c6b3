"""What evidence keeps of long runs: samples of durations, runs of steps, and a trace of a few steps."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from torchlint.runtime.occurrences import Occurrences
from torchlint.runtime.phases import EVALUATION, TRAINING
from torchlint.runtime.reservoir import Reservoir
from torchlint.runtime.sites import NOWHERE
from torchlint.runtime.timeline import ENTRIES, STEPS, Timeline


def test_a_reservoir_keeps_the_range_and_about_the_median() -> None:
    full, empty = Reservoir(32), Reservoir(32)
    for value in range(10_000):
        full.add(value)
    assert empty.range is None
    low, median, high = full.range or [0, 0, 0]
    assert (low, high) == (0, 9_999)
    assert median == pytest.approx(5_000, rel=0.1)


def test_runs_of_steps() -> None:
    runs = Occurrences()
    for step in (1, 1, 2, 3, 7, 8, 20):
        runs.add(step)
    assert runs.runs == [[1, 3, 3], [7, 8, 2], [20, 20, 1]]


def test_many_runs_are_joined_and_say_in_how_many_steps() -> None:
    runs = Occurrences()
    for step in range(0, 3_000, 3):
        runs.add(step)
    runs.add(100_000)
    assert len(runs.runs) <= 64
    assert (runs.runs[0][0], runs.runs[-1]) == (0, [100_000, 100_000, 1])
    assert sum(count for _, _, count in runs.runs) == 1_001


def test_a_trace_keeps_the_first_two_steps_and_late_ones() -> None:
    timeline = Timeline()
    for number in range(1, 5_001):
        if timeline.recording:
            timeline.add("sync", NOWHERE, 0, 0)
        timeline.end(number, TRAINING, 1_000, first=number == 1, done=number)
    kept = timeline.written()["steps"]
    assert [sample["step"] for sample in kept] == [1, 2, 64, 256, 1024, 4096]
    assert len(kept) == STEPS
    assert all(len(sample["entries"]) == 1 for sample in kept)


def test_a_trace_tells_evaluation_from_the_step_around_it() -> None:
    timeline = Timeline()
    timeline.end(1, TRAINING, 1_000, first=True, done=1)
    timeline.add("download", NOWHERE, 8, 0)  # after the step
    timeline.wait(begun=True)
    timeline.add("batch", NOWHERE, 0, 0)
    timeline.end(2, EVALUATION, 1_000, first=False, done=1)
    timeline.wait(begun=True)
    timeline.add("upload", NOWHERE, 4, 0)
    timeline.end(3, TRAINING, 1_000, first=False, done=2)
    kinds = {sample["step"]: [entry[2] for entry in sample["entries"]] for sample in timeline.written()["steps"]}
    assert kinds == {1: [], 2: ["batch"], 3: ["download", "upload"]}


def test_a_trace_is_bounded() -> None:
    timeline = Timeline()
    for number in range(1, 3):
        for _ in range(ENTRIES):
            timeline.add("sync", NOWHERE, 0, 0)
        timeline.end(number, TRAINING, 1_000, first=number == 1, done=number)
    written = timeline.written()
    assert sum(len(sample["entries"]) for sample in written["steps"]) <= ENTRIES
    assert written["dropped"] == 2 * ENTRIES - sum(len(sample["entries"]) for sample in written["steps"])
