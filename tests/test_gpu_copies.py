"""Copies that are observed on a GPU, and their prices: on the simulated device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")


from tests.gpu_help import HERE, order
from torchlint.runtime import calibrate
from torchlint.runtime.copies import Copies
from torchlint.runtime.observation import Observation
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites

# -- copies ------------------------------------------------------------------------------------------


@pytest.fixture
def on_device(tmp_path: Path) -> Iterator[Observation]:
    """An observation in ``gpu`` mode of a program that runs on two simulated devices."""
    simulated = Observation(order(tmp_path, devices=2), "sim")
    simulated.start()
    watching = Observation(order(tmp_path), "gpu")
    watching.start()
    yield watching
    watching.stop()
    simulated.stop()


def copied(observation: Observation, action: Any) -> list[tuple[str, Any, int]]:
    """The copies that an action makes: kind, what for, and bytes."""
    observation.recorder.counts.clear()
    action()
    kinds = ("upload", "download", "peer")
    return [(kind, facts["how"], count.bytes) for kind in kinds for _, facts, count in observation.recorder.of(kind)]


@pytest.mark.parametrize(
    ("arguments", "waits"),
    [
        (("tensor", False, True), True),
        (("tensor", True), False),
        (("tensor", True, True), False),
        (("cuda", torch.float64, False, True), True),
        (("cuda", torch.float64, True), False),
        (("cuda", None, True), False),
    ],
)
def test_a_copy_is_asynchronous_where_its_own_overload_says_so(
    on_device: Observation, arguments: tuple[Any, ...], waits: bool
) -> None:
    host, there = torch.ones(3), torch.ones(3, device="cuda")
    on_device.recorder.counts.clear()
    host.to(*(there if argument == "tensor" else argument for argument in arguments))
    assert [facts["non_blocking"] for _, facts, _ in on_device.recorder.of("upload")] == [not waits]


def assign(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def test_copies_by_other_functions_than_moves_are_seen(on_device: Observation) -> None:
    host, there = torch.ones(3, 4), torch.ones(3, 4, device="cuda")

    def seen(action: Any) -> list[tuple[str, Any, int]]:
        return copied(on_device, action)

    assert seen(lambda: host.type("torch.cuda.FloatTensor")) == [("upload", "type", 48)]
    assert seen(lambda: host.type(torch.cuda.FloatTensor)) == [("upload", "type", 48)]
    assert seen(lambda: host.type_as(there)) == [("upload", "type_as", 48)]
    assert seen(lambda: there.type_as(host)) == [("download", "type_as", 48)]
    assert seen(lambda: there.new_tensor([1.0, 2.0])) == [("upload", "new_tensor", 8)]
    assert seen(lambda: torch.cuda.FloatTensor([1.0, 2.0])) == [("upload", "legacy", 8)]
    assert seen(lambda: torch._foreach_copy_([there, there], [host, there])) == [("upload", "copy_", 48)]
    assert seen(lambda: there.to("cuda:1")) == [("peer", "to", 48)]
    assert seen(lambda: there.to("cuda:1").copy_(there)) == [("peer", "to", 48), ("peer", "copy_", 48)]


def test_what_copies_nothing_between_devices_is_no_copy(on_device: Observation) -> None:
    host, there = torch.ones(3, 4), torch.ones(3, 4, device="cuda")
    index = torch.tensor([0, 2], device="cuda")
    actions: list[Any] = [
        lambda: host.type(torch.float64),
        there.type,
        lambda: there.type_as(there),
        lambda: host.new_tensor([1.0]),
        lambda: there.new_tensor(there),
        lambda: torch.cuda.FloatTensor(2, 3),
        lambda: there[0, 1:, None, ...],
        lambda: there[index],
        lambda: host[[0, 1]],
        lambda: torch._foreach_copy_([there], [there.clone()]),
    ]
    for number, action in enumerate(actions):
        assert copied(on_device, action) == [], number


def test_wrapped_types_are_those_of_torch(tmp_path: Path) -> None:
    real = torch.cuda.FloatTensor
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    try:
        wrapped = torch.cuda.FloatTensor
        assert wrapped is not real
        assert (wrapped.dtype, wrapped.__name__, wrapped.__module__) == (real.dtype, real.__name__, real.__module__)
        assert not isinstance(torch.ones(1), wrapped)
        with pytest.raises(TypeError, match="not available"):  # what torch says without CUDA
            wrapped([1.0])
        torch.set_default_tensor_type(torch.FloatTensor)
    finally:
        observation.stop()
    assert torch.cuda.FloatTensor is real


def test_waits_that_a_copy_does_not_explain_are_events() -> None:
    recorder = Recorder()
    copies = Copies(recorder, Sites([HERE]))

    def call(waits: int) -> None:
        for _ in range(waits):
            copies.waited("stream")

    copies.timed(call, (3,), {})
    copies.settle(1)
    copies.timed(call, (1,), {})
    copies.settle(1)
    copies.waited("event")
    assert (copies.explained, copies.unexplained) == (2, 3)
    waits = [(facts["why"], count.number) for _, facts, count in recorder.of("sync")]
    assert sorted(waits) == [("event", 1), ("stream", 2)]


# -- calibrate ---------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A simulated device that copies a byte in a nanosecond, and needs a microsecond for each copy and read."""
    recorder = Recorder()

    def now() -> int:
        counts = [count for kind in ("upload", "download", "sync") for _, _, count in recorder.of(kind)]
        return sum(count.bytes + 1000 * count.number for count in counts)

    monkeypatch.setattr(calibrate, "perf_counter_ns", now)
    monkeypatch.setattr(calibrate, "_LARGE", 1 << 20)
    monkeypatch.setattr(calibrate, "_HALF", 1 << 19)
    with Simulation(recorder, Sites([])):
        yield recorder


def test_prices_are_measured_on_memory_that_was_written(clock: Recorder) -> None:
    found = calibrate.prices()
    assert found["pageable_bytes_per_us"] == found["pinned_bytes_per_us"] == found["download_bytes_per_us"] == 1000
    assert found["copy_us"] == pytest.approx(0.004), "four bytes"
    assert found["synchronize_us"] == pytest.approx(1.05), "twenty reads, and the synchronization at their end"
    assert {facts["pinned"] for _, facts, _ in clock.of("upload")} == {False, True}


@pytest.mark.usefixtures("clock")
def test_a_machine_with_other_work_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "perf_counter_ns", lambda: 0)
    with pytest.raises(calibrate.Noise, match="the bandwidth of pageable copies cannot be measured"):
        calibrate.prices()


def test_what_makes_a_round_slow_is_in_no_difference() -> None:
    assert calibrate.difference([10.0, 510.0, 11.0, 9.0], [8.0, 508.0, 9.0, 700.0]) == 2.0
