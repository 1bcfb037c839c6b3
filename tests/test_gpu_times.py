"""Times of steps on a GPU, profiled steps, and blocks of steps that are compared: with stand-ins for the device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import time_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from torch.autograd import DeviceType

from tests.companion_help import write
from tests.gpu_help import DebugMode, order
from torchlint.base.shape import fits
from torchlint.confirm.stored_evidence import StoredBlocked
from torchlint.runtime import blocks
from torchlint.runtime.instruments import device_steps, profiled
from torchlint.runtime.observation import Observation
from torchlint.runtime.steps import Enough
from torchlint.runtime.switch import OLD, Switch


@pytest.fixture(autouse=True)
def _debug_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch can report synchronizations, and there are no notes about that."""
    DebugMode().install(monkeypatch)


@pytest.fixture
def observing(tmp_path: Path) -> Iterator[Observation]:
    """An observation in ``gpu`` mode."""
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    yield observation
    observation.stop()


# -- the time of steps, and profiled steps ------------------------------------------------------------


def train(steps: int, each: Any = lambda: None) -> None:
    """Make some steps, with something to do in each."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.sum().backward()
    for _ in range(steps):
        each()
        optimizer.step()


class Device:
    """What CUDA events say of a device that works for seven milliseconds a step, and is ``behind`` by some events."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, behind: int = 0) -> None:
        self.made: list[Device.Event] = []
        self.behind, self.now, self.current, self.capturing = behind, 0.0, 0, False
        monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Device.Event(self, enable_timing))
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: self.current)

    def step(self) -> None:
        """Work for a step."""
        self.now += 7.0

    class Event:
        """A CUDA event."""

        def __init__(self, device: Device, enable_timing: bool) -> None:
            assert enable_timing
            self.device = device

        def record(self) -> None:
            """Remember the time on the device."""
            self.device.made.append(self)
            self.at = self.device.now

        def query(self) -> bool:
            """Whether the device has passed it."""
            assert not self.device.capturing, "a query ends a capture with an error"
            made = self.device.made
            return made.index(self) < len(made) - self.device.behind

        def elapsed_time(self, later: Device.Event) -> float:
            """Milliseconds until a later event."""
            assert later.query()
            return later.at - self.at


def test_steps_are_timed_on_the_device_without_waiting(observing: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(monkeypatch, behind=2)
    train(40, device.step)
    assert len(device.made) == 40 // device_steps.EVERY
    assert observing.evidence()["device_steps"] == {"count": 6, "median_ns": 7_000_000}
    device.behind = 0
    observing.finish()
    assert observing.evidence()["device_steps"] == {"count": 8, "median_ns": 7_000_000}


def test_events_that_cannot_be_compared_are_not(observing: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(monkeypatch)

    def step() -> None:
        device.step()
        device.current, device.capturing = int(device.now > 35.0), device.now > 63.0

    train(40, step)
    assert len(device.made) == 2
    assert observing.evidence()["device_steps"] == {"count": 0, "median_ns": None}


def test_an_instrument_that_fails_at_the_end_takes_nothing_from_the_others(
    observing: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(monkeypatch, behind=2)

    def fails() -> None:
        raise RuntimeError("the device is gone")

    others = [instrument for instrument in observing.instruments if type(instrument).__name__ != "DeviceSteps"]
    for instrument in others:
        monkeypatch.setattr(instrument, "finish", fails)
    train(40, device.step)
    device.behind = 0
    observing.finish()
    assert observing.evidence()["device_steps"]["count"] == 8


def test_a_program_that_ends_while_it_captures_a_graph_keeps_its_capture(
    observing: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(monkeypatch, behind=2)
    train(40, device.step)
    device.behind, device.capturing = 0, True
    train(8, device.step)
    next(one for one in observing.instruments if isinstance(one, device_steps.DeviceSteps)).finish()
    assert observing.evidence()["device_steps"]["count"] == 6


def test_a_gpu_that_the_program_does_not_use_is_left_alone(observing: Observation) -> None:
    train(40)
    assert observing.evidence()["device_steps"] == {"count": 0, "median_ns": None}


class Profiler:
    """What the profiler reports."""

    def __init__(self, **options: Any) -> None:
        assert options["acc_events"]
        start = time_ns()
        self.profiler = SimpleNamespace(kineto_results=SimpleNamespace(trace_start_ns=lambda: start, events=list))

    def __enter__(self) -> Profiler:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def events(self) -> list[Any]:
        """One copy to the device, two waits, and a kernel that takes as long as everything else."""
        spent = {"Memcpy HtoD (Pageable -> Device)": 3.0, "cudaStreamSynchronize": 2.0, "cudaFree": 9.0, "gemm": 1e9}
        return [event(name, us) for name, us in spent.items()]


def event(name: str, us: float) -> Any:
    """An event as torch's profiler gives it: those of the CUDA runtime are on the host."""
    return SimpleNamespace(
        name=name,
        time_range=SimpleNamespace(start=0.0, end=us, elapsed_us=lambda: us),
        device_type=DeviceType.CPU if name.startswith("cuda") else DeviceType.CUDA,
        device_index=0,
    )


def profiling(tmp_path: Path, steps: int, limit: int | None = None, profiled_steps: int = 20) -> Observation:
    """A run of some steps with profiled ones, each with one recorded event."""
    program = write(tmp_path, "flagged()")
    marks = {str(program): [{"id": "0", "span": [1, 0, 1, 9]}]}
    observation = Observation(order(tmp_path, profile_steps=profiled_steps, steps=limit, marks=marks), "gpu")
    observation.start()
    code = observation.marks.compile(program.read_bytes(), str(program))

    def flagged() -> None:
        observation.recorder.add("upload", observation.sites.here(), 8, 1000)

    try:
        train(steps, lambda: exec(code, {"flagged": flagged}))
        observation.finish()
    finally:
        observation.stop()
    return observation


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that the program uses."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(device_steps, "EVERY", 10**9)


@pytest.mark.usefixtures("used")
def test_profiled_steps_count_for_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    found = profiling(tmp_path, 40)
    evidence = found.evidence()
    steps = 20
    device = evidence["profiled"]["device"]
    assert (len(device["steps"]), device["idle"], device["gaps"]) == (4, 0.0, [])
    assert len(device["rows"]["host"]) > 0
    assert found.recorder.heard is None
    assert evidence["steps"]["excluded"] == steps == evidence["profiled"]["steps"] == 20
    assert evidence["profiled"]["seen"] == {"upload": 20, "download": 0}
    assert evidence["profiled"]["waits"] == [
        {"name": "cudaFree", "count": 1, "us": 9.0},
        {"name": "cudaStreamSynchronize", "count": 1, "us": 2.0},
    ]
    assert (
        evidence["steps"]["phases"]["training"]["steady"] == len(evidence["steps"]["durations"]) - 1 == 40 - 1 - steps
    )
    uploads = [e for e in evidence["events"] if e["kind"] == "upload"]
    assert [(e["count"], e["bytes"], e["ns"]) for e in uploads] == [(40, 320, 20_000)]
    assert [e["steady"] for e in uploads] == [[19, 152, 19_000]]
    mark = evidence["marks"]["0"]
    assert (mark["begun"], mark["ended"], mark["evaluations"]["count"]) == (40, 40, 40)
    assert mark["evaluations"]["steady"][0] == uploads[0]["steady"][0] == 19
    assert found.marks._all[0].evaluations.durations._number == 20
    assert evidence["notes"] == []


@pytest.mark.parametrize(
    ("limit", "steps", "wanted"),
    [
        (None, 20, (10, 30)),
        (100, 20, (10, 30)),
        (24, 20, (8, 16)),
        (6, 20, (2, 4)),
        (2, 20, (1, 2)),
        (None, 5, (10, 15)),
        (15, 5, (5, 10)),
        (6, 5, (2, 4)),
    ],
)
def test_the_profiled_steps_fit_into_a_short_run(limit: int | None, steps: int, wanted: tuple[int, int]) -> None:
    assert profiled.window(limit, steps) == wanted


@pytest.mark.usefixtures("used")
def test_waits_of_profiled_steps_are_written_with_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    evidence = profiling(tmp_path, 40, profiled_steps=5).evidence()
    blocked = evidence["profiled"]["blocked"]
    assert fits(blocked, StoredBlocked)
    assert (evidence["profiled"]["steps"], blocked["steps"]) == (5, 4)
    assert [(line["kind"], line["count"]) for line in blocked["lines"]] == [("upload", 4)]


def test_a_gpu_that_the_program_does_not_use_is_not_profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    evidence = profiling(tmp_path, 40).evidence()
    assert (evidence["profiled"], evidence["notes"], evidence["steps"]["excluded"]) == (None, [], 0)


@pytest.mark.usefixtures("used")
def test_nothing_is_profiled_while_a_graph_is_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    class Counting(Profiler):
        def __enter__(self) -> Profiler:
            begun.append(count[0])
            return self

        def __exit__(self, *_: object) -> None:
            begun.append(count[0])

    count = [0]
    monkeypatch.setattr(torch.profiler, "profile", Counting)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: count[0] in (*range(9, 15), 19, 20))
    observation = Observation(order(tmp_path, profile_steps=5), "gpu")
    observation.start()
    try:
        train(40, lambda: count.__setitem__(0, count[0] + 1))
    finally:
        observation.stop()
    assert begun == [15, 21]
    assert observation.evidence()["profiled"]["steps"] == 6


@pytest.mark.usefixtures("used")
def test_a_profiler_of_the_program_comes_first(tmp_path: Path) -> None:
    observation = Observation(order(tmp_path, profile_steps=5), "gpu")
    observation.start()
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
            train(40)
    finally:
        observation.stop()
    assert any(one.name == "aten::ones" for one in own.events())
    evidence = observation.evidence()
    assert evidence["notes"] == ["no step was profiled: the program has a profiler of its own"]
    assert (evidence["profiled"], evidence["steps"]["excluded"]) == (None, 0)


@pytest.mark.usefixtures("used")
def test_profiling_ends_where_the_program_begins_to_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_host = [torch.profiler.ProfilerActivity.CPU]
    monkeypatch.setattr(profiled, "_profiler", lambda: torch.profiler.profile(activities=on_the_host, acc_events=True))
    observation = Observation(order(tmp_path, profile_steps=20), "gpu")
    observation.start()
    try:
        train(14)
        with torch.profiler.profile(activities=on_the_host) as own:
            train(14)
    finally:
        observation.stop()
    assert any(one.name == "aten::ones" for one in own.events())
    assert observation.recorder.heard is None
    found = observation.evidence()
    assert (found["steps"]["excluded"], found["profiled"]["steps"], found["notes"]) == (4, 4, [])


@pytest.mark.usefixtures("used")
def test_a_run_that_is_too_short_to_be_profiled_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    found = profiling(tmp_path, 4).evidence()
    assert found["profiled"] is None
    assert found["notes"] == [
        "no step was profiled: there were 4 steps, and it begins after 10; limit the run with --steps"
    ]


@pytest.mark.usefixtures("used")
def test_a_run_that_ends_while_it_is_profiled_keeps_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    found = profiling(tmp_path, 16).evidence()
    assert (found["profiled"]["steps"], found["steps"]["excluded"]) == (6, 6)


@pytest.mark.usefixtures("used")
def test_copies_that_cannot_be_timed_are_no_failure(tmp_path: Path) -> None:
    found = profiling(tmp_path, 40).evidence()
    assert found["steps"]["count"] == 40
    failed = any("no step was profiled" in note for note in found["notes"])
    assert (found["profiled"] is None) == failed


def test_copies_are_picked_out_of_a_profile() -> None:
    names = ["Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)"]
    spent = zip([*names, "Memcpy DtoD", "gemm"], (3.0, 5.0, 2.0, 1.0, 9.0), strict=True)
    assert profiled.copies_of(event(name, us) for name, us in spent) == [
        {"name": names[0], "kind": "upload", "count": 2, "us": 8.0},
        {"name": names[2], "kind": "download", "count": 1, "us": 2.0},
    ]


# -- compare -----------------------------------------------------------------------------------------


class Queue:
    """A program and a device that works through what it is given: the time is that of the program."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.done = 0
        monkeypatch.setattr(blocks, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(blocks, "synchronize", self.wait)

    def submit(self, host: int, device: int) -> None:
        """Work that takes some milliseconds on the host, and then on the device."""
        self.now += host * 1_000_000
        self.done = max(self.done, self.now) + device * 1_000_000

    def wait(self) -> None:
        """Until the device is done."""
        self.now = max(self.now, self.done)


def switched(tmp_path: Path, **more: Any) -> Switch:
    wanted = {
        "path": str(tmp_path / "p.py"),
        "fixed": "",
        "form": "blocks",
        "method": "switch",
        "blocks": 8,
        "seed": 3,
        **more,
    }
    return Switch({"switch": wanted})


def test_a_form_that_does_not_wait_leaves_no_work_to_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, switch = Queue(monkeypatch), switched(tmp_path)
    with pytest.raises(Enough):
        for step in range(1000):
            queue.submit(1, 10)
            if switch._now == OLD:
                queue.wait()
            switch.stepped(step)
    assert len(switch.pairs) == 8
    for old, new in switch.pairs:
        assert old == pytest.approx(11e6)
        assert new == pytest.approx(10e6, rel=0.04), "the device is as busy; only one millisecond overlaps"


def test_blocks_are_long_enough_and_leave_evaluation_out(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, evaluations = Queue(monkeypatch), 0
    timer = blocks.Blocks(lambda: evaluations)
    found, lengths, since = [], [], 0
    for step in range(400):
        queue.submit(1, 0)
        if step % 97 == 96:
            evaluations += 1
            queue.submit(500, 0)
        since += 1
        spent = timer.stepped()
        if spent is not None:
            found.append(spent)
            lengths.append(since)
            since = 0
    assert set(found) == {1e6}
    assert min(lengths) == 51 < max(lengths)


def test_one_form_is_timed_in_blocks_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, switch = Queue(monkeypatch), switched(tmp_path, form="new")
    for step in range(200):
        queue.submit(1, 10)
        switch.stepped(step)
    assert switch.written()["blocks"]
    assert all(spent == pytest.approx(10e6, rel=0.04) for spent in switch.written()["blocks"])


def test_only_devices_in_use_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    blocks.synchronize()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda index: [0, 512, 64][index])
    blocks.synchronize()
    assert waited == [1, 2]
