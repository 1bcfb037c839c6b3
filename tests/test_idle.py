"""What waits and copies cost a device, in a model of a host and a device in which that is known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.machine import BACKWARD, MAIN, Machine, line
from torchlint.base.shape import fits
from torchlint.confirm.stored_evidence import StoredBlocked
from torchlint.runtime.blocked import sizes_of
from torchlint.runtime.sites import NOWHERE

READ, OTHER, MOVE, BACK = line(7), line(8), line(3), line(9)


def run(step: Callable[[Machine], None], steps: int = 20) -> Machine:
    """Some steps of a program."""
    machine = Machine()
    for _ in range(steps):
        step(machine)
        machine.step()
    return machine


def duration(step: Callable[[Machine], None], steps: int = 20) -> float:
    """How long a step takes in the long run."""
    long, short = run(step, 2 * steps), run(step, steps)
    return (max(long.now, long.free) - max(short.now, short.free)) / steps


def kernels(machine: Machine, count: int, us: float, python: float = 0.0) -> None:
    """Kernels with some Python before each."""
    for _ in range(count):
        machine.work(python)
        machine.launch(us)


def bound_by_the_device(machine: Machine) -> None:
    """Work that takes the device longer than the host."""
    kernels(machine, 20, 100.0, 10.0)


# -- the cost is what a program gains without it ------------------------------------------------------


def test_a_program_that_the_host_keeps_waiting_has_no_wait_to_blame() -> None:
    machine = run(lambda m: kernels(m, 20, 2.0, 30.0))
    found = machine.device().blocked()
    assert found is not None
    assert found["lines"] == []
    assert found["idle_ns"] > 0.9 * found["ns"]


def test_a_copy_for_which_nobody_waits_costs_nothing() -> None:
    def step(machine: Machine) -> None:
        machine.upload(300.0, 10**7, MOVE, blocking=False)
        bound_by_the_device(machine)

    machine = run(step)
    found = machine.device().blocked()
    assert found is not None
    assert found["lines"] == []
    assert found["idle_ns"] >= 300_000, "while the copy runs, nothing is computed"


def test_an_asynchronous_copy_is_not_the_cost_of_a_read_before_it() -> None:
    def step(machine: Machine) -> None:
        machine.read(READ)
        machine.upload(300.0, 10**7, MOVE, blocking=False)
        bound_by_the_device(machine)

    assert run(step).idle()["sync", 7] < 60.0


@pytest.mark.parametrize("read_behind", [0, 10, 20], ids=["at the beginning", "in the middle", "at the end"])
def test_a_read_costs_what_a_step_gains_without_it(read_behind: int) -> None:
    def step(machine: Machine, *, read: bool = True) -> None:
        kernels(machine, read_behind, 100.0, 10.0)
        if read:
            machine.read(READ)
        machine.work(70.0)
        kernels(machine, 20 - read_behind, 100.0, 10.0)

    gained = duration(step) - duration(lambda m: step(m, read=False))
    assert gained > 80.0
    assert run(step).idle()["sync", 7] == pytest.approx(gained, rel=0.1)


def test_a_read_in_a_program_bound_by_the_host_costs_no_more_than_it_blocks() -> None:
    def step(machine: Machine, *, read: bool = True) -> None:
        kernels(machine, 10, 2.0, 30.0)
        if read:
            machine.read(READ)
        kernels(machine, 10, 2.0, 30.0)

    gained = duration(step) - duration(lambda m: step(m, read=False))
    assert gained < 30.0
    assert run(step).idle()["sync", 7] < 30.0


def test_a_read_also_costs_later_times_for_which_the_host_is_not_ahead_because_of_it() -> None:
    def step(machine: Machine, *, read: bool = True) -> None:
        kernels(machine, 5, 400.0, 10.0)
        if read:
            machine.read(READ)
        kernels(machine, 30, 5.0, 20.0)

    gained = duration(step) - duration(lambda m: step(m, read=False))
    assert run(step).idle()["sync", 7] == pytest.approx(gained, rel=0.1)


def test_of_two_waits_behind_each_other_the_first_costs_little_and_both_together_the_whole_time() -> None:
    def step(machine: Machine, *, read: bool = True) -> None:
        kernels(machine, 10, 100.0, 10.0)
        if read:
            machine.read(READ)
            machine.read(OTHER)
        machine.work(200.0)
        kernels(machine, 10, 100.0, 10.0)

    gained = duration(step) - duration(lambda m: step(m, read=False))
    idle = run(step).idle()
    assert idle["sync", 7] < 0.2 * idle["sync", 8]
    assert sum(idle.values()) == pytest.approx(gained, rel=0.1)


def test_loading_between_a_read_and_a_copy_is_the_cost_of_the_read() -> None:
    def step(machine: Machine) -> None:
        machine.work(400.0)  # loads the next batch
        machine.upload(100.0, 10**6, MOVE)
        bound_by_the_device(machine)
        machine.read(READ)

    idle = run(step).idle()
    assert idle["sync", 7] == pytest.approx(400.0, rel=0.1)
    assert idle["upload", 3] == pytest.approx(150.0, rel=0.1)


def test_loading_that_takes_longer_than_the_device_works_is_not_the_cost_of_a_read() -> None:
    def step(machine: Machine, *, read: bool = True) -> None:
        machine.work(9000.0)
        bound_by_the_device(machine)
        if read:
            machine.read(READ)

    gained = duration(step) - duration(lambda m: step(m, read=False))
    assert gained < 2100.0
    assert run(step).idle()["sync", 7] == pytest.approx(gained, rel=0.1)


def test_all_costs_together_are_no_more_than_the_time_without_computing() -> None:
    def step(machine: Machine) -> None:
        machine.upload(100.0, 10**6, MOVE)
        kernels(machine, 10, 50.0, 20.0)
        machine.read(READ)
        machine.synchronize()
        kernels(machine, 10, 1.0, 20.0)
        machine.read(OTHER)

    found = run(step).device().blocked()
    assert found is not None
    assert fits(found, StoredBlocked)
    assert 0 < sum(one["idle_ns"] for one in found["lines"]) <= found["idle_ns"] < found["ns"]


# -- which line a wait belongs to -------------------------------------------------------------------


def test_waits_of_a_backward_pass_are_mentioned_at_its_end() -> None:
    def step(machine: Machine) -> None:
        kernels(machine, 10, 100.0, 10.0)
        machine.thread = BACKWARD
        for _ in range(2):
            machine.upload(1.0, 64, None)
            machine.work(100.0)
            kernels(machine, 5, 100.0, 10.0)
        machine.thread = MAIN
        machine.mention(BACK)
        machine.mention(BACK)
        kernels(machine, 5, 100.0, 10.0)

    found = run(step).device().blocked()
    assert found is not None
    (only,) = found["lines"]
    assert (only["kind"], only["site"], only["beside"], only["mentioned"]) == ("upload", list(BACK), True, True)
    assert (only["count"] / found["steps"], only["bytes"] / found["steps"]) == (2.0, 128.0)
    assert only["idle_ns"] / found["steps"] > 200_000


def test_waits_that_nobody_mentions_belong_to_no_line() -> None:
    def step(machine: Machine) -> None:
        kernels(machine, 10, 100.0, 10.0)
        machine.synchronize()
        machine.work(300.0)
        kernels(machine, 10, 100.0, 10.0)
        machine.read(READ)

    assert set(run(step).idle()) == {("sync", 7)}
    assert run(step).idle()["sync", 7] < 60.0


def test_what_a_wait_was_for_is_told_by_the_copy_before_it() -> None:
    def step(machine: Machine) -> None:
        machine.upload(1.0, 24, None)  # an index of the host
        machine.mention(MOVE)
        bound_by_the_device(machine)
        machine.read(READ)

    found = run(step, 4).device().blocked()
    assert found is not None
    lines: dict[Any, Any] = {one["site"][1]: one for one in found["lines"]}
    assert {number: one["kind"] for number, one in lines.items()} == {3: "upload", 7: "sync"}
    assert (lines[3]["bytes"], lines[3]["count"], lines[3]["pinned"]) == (72, 3, False)


def test_a_copy_of_many_numbers_to_the_host_is_no_read_of_one() -> None:
    machine = Machine()
    machine.step()
    for _ in range(3):
        machine.launch(9.0)
        machine._device("Memcpy DtoH (Device -> Pageable)", 1.0, machine._copy(4000))
        machine._wait()
        machine.mention(NOWHERE)
        machine.step()
    found = machine.device().blocked()
    assert found is not None
    assert [(one["kind"], one["bytes"]) for one in found["lines"]] == [("download", 12000)]


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ({"metadata_json": lambda: '"stream": 7, "bytes": 1572864, "memory bandwidth (GB/s)": 12.1'}, 1_572_864),
        ({"metadata_json": lambda: ""}, 0),
        ({"nbytes": lambda: 64}, 64),
        ({}, 0),
    ],
)
def test_the_bytes_of_copies_are_those_that_this_torch_tells(more: dict[str, Any], size: int) -> None:
    copy = SimpleNamespace(name=lambda: "Memcpy HtoD (Pageable -> Device)", correlation_id=lambda: 5, **more)
    kernel = SimpleNamespace(name=lambda: "gemm", correlation_id=lambda: 6)
    assert sizes_of(SimpleNamespace(events=lambda: [copy, kernel])) == {5: size}
