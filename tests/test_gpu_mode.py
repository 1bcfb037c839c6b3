"""Observation on a GPU, as far as it can be tested without one: on CPU tensors and on the simulated device."""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from torch.cuda import _gpu_trace

from torchlint.runtime import blocks, driver, modes, trace
from torchlint.runtime.copies import Copies
from torchlint.runtime.instruments import device_steps, profiled
from torchlint.runtime.observation import Observation
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Site, Sites
from torchlint.runtime.steps import Enough
from torchlint.runtime.switch import OLD, Switch
from torchlint.runtime.trace import Trace

HERE = str(Path(__file__).parent)
REGISTRIES = [value for name, value in vars(_gpu_trace).items() if name.endswith("Callbacks")]


def order(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {"torchlint": "test", "run": "test", "directory": str(tmp_path), "roots": [HERE], **more}


@pytest.fixture
def observing(tmp_path: Path) -> Iterator[Observation]:
    """An observation in ``gpu`` mode."""
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    yield observation
    observation.stop()


def state() -> list[dict[str, Any]]:
    return [{name: list(v) if name == "callback_list" else v for name, v in vars(r).items()} for r in REGISTRIES]


# -- torch's account of synchronizations -----------------------------------------------------------


def test_the_account_of_torch_is_off_again_after_the_observation(tmp_path: Path) -> None:
    before = state()
    for _ in range(2):  # a notebook observes several times
        observation = Observation(order(tmp_path), "gpu")
        observation.start()
        assert trace._switch().value
        _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks(0)
        assert observation.evidence()["synchronisations"] == {"explained": 0, "unexplained": 1}
        observation.stop()
        assert not trace._switch().value
        assert state() == before


def test_an_account_that_somebody_else_uses_stays_on() -> None:
    switch = trace._switch()
    heard: list[int] = []
    torch._C._activate_gpu_trace()
    switch.value = True
    _gpu_trace.register_callback_for_stream_synchronization(heard.append)
    try:
        ours = Trace()
        ours.on(lambda _why: lambda *_: None)
        ours.off()
        assert switch.value
        _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks(3)
        assert heard == [3]
    finally:
        switch.value = False
        _gpu_trace.StreamSynchronizationCallbacks.callback_list.remove(heard.append)


def test_an_account_without_an_off_switch_ends_in_functions_that_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = state()
    switch = trace._switch()
    monkeypatch.setattr(trace, "_switch", lambda: None)
    heard: list[str] = []
    try:
        for _ in range(2):
            ours = Trace()
            ours.on(lambda why: lambda *_: heard.append(why))
            _gpu_trace.EventSynchronizationCallbacks.fire_callbacks(0)
            ours.off()
            for registry in REGISTRIES:
                assert registry.fire_callbacks(0) is None
                assert "fire_callbacks" in vars(registry)
        assert heard == ["event", "event"]
    finally:
        switch.value = False
        for registry in REGISTRIES:
            vars(registry).pop("fire_callbacks", None)
    assert state() == before


def test_a_missing_account_is_not_a_count_of_zero(tmp_path: Path) -> None:
    observation = Observation(order(tmp_path, untraced=True), "gpu")
    observation.start()
    observation.stop()
    assert observation.evidence()["synchronisations"] is None


class Nvml:
    """The driver's library, with two GPUs."""

    def __init__(self, *, driver: str = "580.1", modes: tuple[int, ...] = (0, 0)) -> None:
        self.driver, self.modes = driver, modes
        self.open = 0

    def nvmlInit_v2(self) -> int:  # noqa: N802 - NVML's name, like the others
        """Begin."""
        self.open += 1
        return 0

    def nvmlShutdown(self) -> int:  # noqa: N802
        """End."""
        self.open -= 1
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        """The number of GPUs."""
        count._obj.value = len(self.modes)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, device: Any) -> int:  # noqa: N802
        """A GPU."""
        device._obj.value = index.value + 1
        return 0

    def nvmlDeviceGetName(self, device: Any, text: Any, _length: Any) -> int:  # noqa: N802
        """Its name."""
        text.value = f"GPU {device.value}".encode()
        return 0

    def nvmlDeviceGetComputeMode(self, device: Any, mode: Any) -> int:  # noqa: N802
        """Who may use it."""
        mode._obj.value = self.modes[device.value - 1]
        return 0

    def nvmlSystemGetDriverVersion(self, text: Any, _length: Any) -> int:  # noqa: N802
        """The version of the driver."""
        text.value = self.driver.encode()
        return 0


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The self-tests that are run; all pass."""
    modules: list[str] = []

    def run(module: str) -> tuple[list[str], bool]:
        modules.append(module)
        return [], True

    monkeypatch.setattr(modes, "_available", lambda: True)
    monkeypatch.setattr(modes, "_run", run)
    return modules


def test_the_driver_is_asked_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Nvml()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: nvml)
    assert driver.gpus() == ("580.1", ("GPU 1", "GPU 2"), False)
    assert nvml.open == 0
    nvml.modes = (0, 3)
    assert driver.gpus() == ("580.1", ("GPU 1", "GPU 2"), True)
    monkeypatch.setattr(nvml, "nvmlDeviceGetCount_v2", lambda _count: 999)
    assert driver.gpus() is None
    assert nvml.open == 0


def test_the_self_test_of_the_account_is_remembered_for_the_gpu_and_the_driver(
    tmp_path: Path, tested: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = order(tmp_path, mode="gpu", cache=str(tmp_path / "cache"))
    found = driver.Gpus("580.1", ("GPU 1",), exclusive=False)
    for gpus, runs in ((found, 1), (found, 1), (found._replace(driver="590.2"), 2), (found, 2), (None, 3), (None, 4)):
        monkeypatch.setattr(driver, "gpus", lambda gpus=gpus: gpus)
        assert modes.resolve(ordered) == ("gpu", [])
        assert len(tested) == runs


def test_a_gpu_in_exclusive_mode_is_left_to_the_program(
    tmp_path: Path, tested: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = order(tmp_path, mode="gpu", cache=str(tmp_path / "cache"))
    shared = driver.Gpus("580.1", ("GPU 1",), exclusive=False)
    monkeypatch.setattr(driver, "gpus", lambda: shared._replace(exclusive=True))
    mode, notes = modes.resolve(dict(ordered))
    assert (mode, tested) == ("gpu", [])
    assert "not tested on a GPU in exclusive compute mode" in notes[0]
    monkeypatch.setattr(driver, "gpus", lambda: shared)
    modes.resolve(dict(ordered))
    monkeypatch.setattr(driver, "gpus", lambda: shared._replace(exclusive=True))
    assert modes.resolve(dict(ordered)) == ("gpu", [])
    assert len(tested) == 1


def test_a_self_test_that_was_interrupted_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "_run", lambda _: (["the self-test itself (status -9)"], False))
    ordered = order(tmp_path, mode="sim", cache=str(tmp_path / "cache"))
    assert modes.resolve(ordered)[0] == "cpu"
    monkeypatch.setattr(modes, "_run", lambda _: ([], True))
    assert modes.resolve(ordered) == ("sim", [])


# -- sites ---------------------------------------------------------------------------------------------


class InThread(torch.autograd.Function):  # type: ignore[misc]
    """Its backward calls a function in a thread that Python has not started, as autograd does for a GPU."""

    called: Any

    @staticmethod
    def forward(_ctx: Any, x: Any) -> Any:
        """A copy."""
        return x.clone()

    @staticmethod
    def backward(_ctx: Any, gradient: Any) -> Any:
        """Wait for the thread."""
        done = threading.Event()
        _thread.start_new_thread(InThread.called, (done.set,))
        assert done.wait(60)
        return gradient


def test_what_waits_in_backward_stands_at_the_call_of_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Site] = []
    library = compile("def called(done):\n    found.append(here())\n    done()\n", "/library/code.py", "exec")
    names: dict[str, Any] = {"found": found, "here": Sites([HERE]).here}
    exec(library, names)
    monkeypatch.setattr(InThread, "called", staticmethod(names["called"]), raising=False)
    x = torch.ones(2, requires_grad=True)
    loss = InThread.apply(x).sum()
    loss.backward()
    torch.autograd.grad(InThread.apply(x).sum(), x)
    source = Path(__file__).read_text("utf-8").splitlines()
    assert [source[site.line - 1].strip() for site in found] == [
        "loss.backward()",
        "torch.autograd.grad(InThread.apply(x).sum(), x)",
    ]


def test_a_thread_of_the_program_does_not_belong_to_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Site] = []
    library = compile("def called(done):\n    found.append(here())\n    done()\n", "/library/code.py", "exec")
    names: dict[str, Any] = {"found": found, "here": Sites([HERE]).here}
    exec(library, names)

    def in_python(done: Any) -> None:
        threading.Thread(target=names["called"], args=(done,)).start()

    monkeypatch.setattr(InThread, "called", staticmethod(in_python), raising=False)
    InThread.apply(torch.ones(2, requires_grad=True)).sum().backward()
    assert [site.path for site in found] == [""]


# -- what is not observed ---------------------------------------------------------------------------


def opaque(observation: Observation) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, facts, count in observation.recorder.of("opaque"):
        found[str(facts["how"])] = found.get(str(facts["how"]), 0) + count.number
    return found


def test_eager_code_is_not_opaque(observing: Observation) -> None:
    layer = torch.nn.Conv1d(1, 1, 1)
    torch.jit.script(layer)
    torch.utils.checkpoint.checkpoint(layer, torch.ones(1, 1, 3), use_reentrant=False)
    assert opaque(observing) == {}
    assert observing.evidence()["compiled"] is False


def test_scripted_compiled_exported_and_replayed_code_is_opaque(
    observing: Observation,
) -> None:
    layer, x = torch.nn.Conv1d(1, 1, 1), torch.ones(1, 1, 3)
    scripted = torch.jit.script(layer)
    traced = torch.jit.trace(function, (x,), check_trace=False)
    for _ in range(3):
        assert scripted(x).equal(layer(x))
        assert traced(x).equal(x + 1)
    torch.compile(layer, backend="eager")(x)
    torch.export.export(layer, (x,)).module()(x)
    assert opaque(observing) == {"scripted": 6, "compiled": 1, "exported": 1}
    assert observing.evidence()["compiled"] is True
    with pytest.raises(Exception):  # noqa: B017 - without CUDA there is no graph
        torch.cuda.CUDAGraph.replay(object())
    assert opaque(observing)["replayed"] == 1


def function(x: torch.Tensor) -> torch.Tensor:
    return x + 1


# -- copies ------------------------------------------------------------------------------------------


@pytest.fixture
def on_device(tmp_path: Path) -> Iterator[Observation]:
    """An observation in ``gpu`` mode of a program that runs on two simulated devices."""
    simulated = Observation(order(tmp_path, devices=2), "sim")
    simulated.start()
    watching = Observation(order(tmp_path, untraced=True), "gpu")
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


def assign(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def test_copies_by_other_functions_than_moves_are_seen(on_device: Observation) -> None:
    host, there = torch.ones(3, 4), torch.ones(3, 4, device="cuda")
    index = torch.tensor([0, 2])

    def seen(action: Any) -> list[tuple[str, Any, int]]:
        return copied(on_device, action)

    assert seen(lambda: host.type("torch.cuda.FloatTensor")) == [("upload", "type", 48)]
    assert seen(lambda: host.type(torch.cuda.FloatTensor)) == [("upload", "type", 48)]
    assert seen(lambda: host.type_as(there)) == [("upload", "type_as", 48)]
    assert seen(lambda: there.type_as(host)) == [("download", "type_as", 48)]
    assert seen(lambda: there.new_tensor([1.0, 2.0])) == [("upload", "new_tensor", 8)]
    assert seen(lambda: torch.cuda.FloatTensor([1.0, 2.0])) == [("upload", "legacy", 8)]
    assert seen(lambda: assign(there, 0, torch.ones(4))) == [("upload", "copy_", 16)]
    assert seen(lambda: assign(host, slice(0, 2), there[:2])) == [("download", "copy_", 32)]
    assert seen(lambda: there[[0, 1, 1]]) == [("upload", "index", 24)]
    assert seen(lambda: there[:, index]) == [("upload", "index", 16)]
    assert seen(lambda: there[index.numpy()]) == [("upload", "index", 16)]
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
        lambda: assign(there, 0, 1.0),
        lambda: assign(there, 0, torch.tensor(1.0)),
        lambda: assign(there, index, there[:2].clone()),
        lambda: assign(host, [0], 2.0),
        lambda: there[0, 1:, None, ...],
        lambda: there[index],
        lambda: host[[0, 1]],
        lambda: torch._foreach_copy_([there], [there.clone()]),
    ]
    for number, action in enumerate(actions):
        assert copied(on_device, action) == [], number


def test_wrapped_types_are_those_of_torch(tmp_path: Path) -> None:
    real = torch.cuda.FloatTensor
    observation = Observation(order(tmp_path, untraced=True), "gpu")
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


def test_a_gpu_that_the_program_does_not_use_is_left_alone(observing: Observation) -> None:
    train(40)
    assert observing.evidence()["device_steps"] == {"count": 0, "median_ns": None}


class Profiler:
    """What the profiler reports."""

    def __init__(self, **options: Any) -> None:
        assert options["acc_events"]

    def __enter__(self) -> Profiler:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def events(self) -> list[Any]:
        """One copy to the device, and two waits."""
        spent = {"Memcpy HtoD (Pageable -> Device)": 3.0, "cudaStreamSynchronize": 2.0, "cudaFree": 9.0, "gemm": 5.0}
        return [event(name, us) for name, us in spent.items()]


def event(name: str, us: float) -> Any:
    return SimpleNamespace(name=name, time_range=SimpleNamespace(elapsed_us=lambda: us))


def profiling(tmp_path: Path, steps: int, limit: int | None = None) -> Observation:
    """A run of some steps with ``--copy-times``, each with one recorded event."""
    observation = Observation(order(tmp_path, untraced=True, copy_times=True, steps=limit), "gpu")
    observation.start()
    try:
        train(steps, lambda: observation.recorder.add("upload", observation.sites.here(), 8, 1000))
        observation.finish()
    finally:
        observation.stop()
    return observation


def test_profiled_steps_count_for_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    found = profiling(tmp_path, 40)
    evidence = found.evidence()
    steps = profiled.LAST - profiled.FIRST
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
    assert evidence["notes"] == []


@pytest.mark.parametrize(
    ("limit", "wanted"), [(None, (10, 30)), (100, (10, 30)), (24, (8, 16)), (6, (2, 4)), (2, (1, 2))]
)
def test_the_profiled_steps_fit_into_a_short_run(limit: int | None, wanted: tuple[int, int]) -> None:
    assert profiled.window(limit) == wanted


def test_a_run_that_is_too_short_to_be_profiled_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    found = profiling(tmp_path, 4).evidence()
    assert found["profiled"] is None
    assert found["notes"] == [
        "copies could not be timed: there were 4 steps, and it begins after 10; limit the run with --steps"
    ]


def test_a_run_that_ends_while_it_is_profiled_keeps_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    found = profiling(tmp_path, 16).evidence()
    assert (found["profiled"]["steps"], found["steps"]["excluded"]) == (6, 6)


def test_copies_that_cannot_be_timed_are_no_failure(tmp_path: Path) -> None:
    found = profiling(tmp_path, 40).evidence()
    assert found["steps"]["count"] == 40
    failed = any("could not be timed" in note for note in found["notes"])
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
    wanted = {"path": str(tmp_path / "p.py"), "fixed": "", "form": "blocks", "blocks": 8, "seed": 3, **more}
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
