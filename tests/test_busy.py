"""When a device was busy, and after which line's wait it was idle: from made-up events of torch's profiler."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.autograd import DeviceType

from tests.machine import ORIGIN, at, event, line
from torchlint.base.shape import fits
from torchlint.confirm.stored_evidence import StoredDevice
from torchlint.runtime.blocked import Log
from torchlint.runtime.busy import Device, few, merged

READ, LOAD, SYNC = (line(number) for number in (7, 3, 9))


def log(*ends: float) -> Log:
    """A log whose profile begins at 0, with steps that end at some microseconds."""
    made = Log(ORIGIN)
    for end in ends:
        made.stepped(at(end))
    return made


def found(events: list[Any], given: Log) -> dict[str, Any]:
    document = Device(events, given, ORIGIN, {}).picture()
    assert document is not None
    assert fits(document, StoredDevice)
    return document


def test_rows_hold_what_the_device_did_in_the_steps_after_the_first() -> None:
    events = [
        event("gemm", 50, 120),
        event("Memcpy HtoD (Pageable -> Device)", 130, 150, activity_type="gpu_memcpy"),
        event("Memcpy DtoH (Device -> Pageable)", 150, 155, activity_type="gpu_memcpy"),
        event("Memset (Device)", 160, 170, activity_type="gpu_memset"),
        event("relu", 171, 190),
        event("after", 195, 300),
    ]
    document = found(events, log(100, 200))
    assert document["steps"] == [100_000]
    assert document["rows"] == {
        "compute": [[0, 20_000], [60_000, 30_000], [95_000, 5_000]],
        "HtoD": [[30_000, 20_000]],
        "DtoH": [[50_000, 5_000]],
        "host": [],
    }
    assert document["busy_ns"] == 79_000
    assert document["idle"] == pytest.approx(0.21)
    assert document["gaps"] == []


def test_four_steps_are_shown() -> None:
    document = found([event("gemm", 0, 2000)], log(*range(100, 1000, 100)))
    assert document["steps"] == [100_000, 200_000, 300_000, 400_000]
    assert (document["busy_ns"], document["idle"]) == (400_000, 0.0)


def test_a_gap_has_the_line_of_the_wait_that_ended_last_before_the_device_worked_again() -> None:
    given = log(0, 1000)
    given.heard(at(305), "download", READ, 200_000, {"non_blocking": False})
    given.heard(at(650), "batch", LOAD, 40_000, {})
    given.heard(at(680), "upload", SYNC, 5_000, {"non_blocking": True})
    events = [event("gemm", 0, 300), event("gemm", 350, 600), event("gemm", 700, 985)]
    document = found(events, given)
    assert document["gaps"] == [[300_000, 50_000, 0], [600_000, 100_000, 1]]
    assert document["sites"] == [list(READ), list(LOAD)]
    assert document["rows"]["host"] == [[105_000, 200_000], [610_000, 40_000], [675_000, 5_000]]


def test_waits_that_were_only_mentioned_are_timed_by_the_runtime() -> None:
    given = log(0, 1000)
    given.heard(at(520), "sync", SYNC, 0, {"why": "stream"})
    events = [
        event("gemm", 0, 500),
        event("cudaStreamSynchronize", 300, 510),
        event("gemm", 600, 850),
        event("cudaFree", 840, 860),
        event("gemm", 900, 1000),
    ]
    document = found(events, given)
    assert document["gaps"] == [[500_000, 100_000, 0], [850_000, 50_000, None]]
    assert document["sites"] == [list(SYNC)]
    assert document["rows"]["host"] == [[300_000, 210_000], [840_000, 20_000]]


def test_a_mention_during_the_wait_and_a_recorded_call_around_it_count_once() -> None:
    given = log(0, 1000)
    given.heard(at(310), "sync", SYNC, 0, {})
    given.heard(at(800), "download", READ, 100_000, {"non_blocking": False})
    events = [event("gemm", 0, 1000), event("cudaStreamSynchronize", 300, 400), event("cudaMemcpy", 720, 790)]
    assert found(events, given)["rows"]["host"] == [[300_000, 100_000], [700_000, 100_000]]


def test_spans_that_the_program_named_are_no_work() -> None:
    events = [
        event("gemm", 0, 100),
        event("my region", 0, 900, activity_type="gpu_user_annotation"),
        event("another", 0, 900, is_user_annotation=True),
        event("Stream Sync", 0, 900, activity_type="cuda_sync"),
    ]
    assert found(events, log(0, 1000))["busy_ns"] == 100_000


def test_a_second_device_is_left_out() -> None:
    events = [event("gemm", 0, 10), event("gemm", 20, 30), event("gemm", 0, 900, device_index=1)]
    assert found(events, log(0, 1000))["busy_ns"] == 20_000


def test_without_work_or_a_whole_step_there_is_nothing() -> None:
    for device in (
        Device([event("gemm", 0, 10)], log(), ORIGIN, {}),
        Device([event("cudaFree", 0, 10)], log(100, 200), ORIGIN, {}),
    ):
        assert device.picture() is None
        assert device.blocked() is None


def test_intervals_are_merged_and_bounded() -> None:
    assert merged([(5, 7), (0, 3), (2, 4), (7, 9)]) == [(0, 4), (5, 9)]
    assert few([(0, 10), (2_010, 2_020), (4_021, 4_030)]) == [(0, 2_020), (4_021, 4_030)]
    many = [(n * 10_000, n * 10_000 + 1_000 + n) for n in range(5_000)]
    assert len(few(many)) <= 400
    assert few(many)[0][0] == 0
    assert few(many)[-1][1] == many[-1][1]


def test_gaps_are_bounded_and_the_longest_remain() -> None:
    events = [event("k", n * 100, n * 100 + (20 if n == 70 else 50)) for n in range(300)]
    document = found(events, log(0, 30_000))
    assert (len(document["gaps"]), document["dropped"]) == (200, 100)
    assert [7_020_000, 80_000, None] in document["gaps"]
    assert document["gaps"] == sorted(document["gaps"], key=lambda gap: gap[0])


def test_torch_gives_events_with_these_fields_in_this_clock() -> None:
    from time import time_ns

    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        before = time_ns()
        torch.ones(9).sum()
        after = time_ns()
    origin = profiler.profiler.kineto_results.trace_start_ns()
    given = next(one for one in profiler.events() if one.name == "aten::sum")
    assert before - 10**8 < origin + given.time_range.start * 1000 < after + 10**8
    assert (given.device_type, given.is_user_annotation) == (DeviceType.CPU, False)
    assert isinstance(given.device_index, int)
