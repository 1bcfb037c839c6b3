"""Observation on a GPU, as far as it can be tested without one: torch's account, sites, what is not observed."""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from torch.cuda import _gpu_trace

from tests.gpu_help import HERE, order
from torchlint.runtime import driver, modes, trace
from torchlint.runtime.observation import Observation
from torchlint.runtime.sites import Site, Sites
from torchlint.runtime.trace import Trace

REGISTRIES = [value for name, value in vars(_gpu_trace).items() if name.endswith("Callbacks")]


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
        assert observation.evidence()["synchronizations"] == {"explained": 0, "unexplained": 1}
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
    assert observation.evidence()["synchronizations"] is None


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


@pytest.mark.parametrize("name", modes.OTHERS)
def test_an_accelerator_that_cannot_be_observed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(modes.OTHERS[name], "is_available", lambda: True)
    with pytest.raises(modes.Refused, match=f"this machine has {name}; use --on sim, or --on cpu"):
        modes.resolve(order(tmp_path, mode="gpu"))


@pytest.mark.parametrize("name", modes.OTHERS)
def test_a_program_on_the_simulated_gpu_finds_no_other_accelerator_and_leaves_if_it_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(modes.OTHERS[name], "is_available", lambda: True)
    observation = Observation(order(tmp_path), "sim")
    observation.start()
    try:
        assert not modes.OTHERS[name].is_available()
        with pytest.raises(RuntimeError, match=f"the device '{name}' is not simulated"):
            torch.ones(2).to(name)
    finally:
        observation.stop()
    assert modes.OTHERS[name].is_available()
    assert observation.left is not None


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


def test_what_a_header_of_a_statement_does_is_not_at_its_lines() -> None:
    library = "class Items:\n    def __init__(self):\n        self.found = []\n"
    library += "    def __enter__(self):\n        self.found.append(here())\n        return self\n"
    library += "    def __exit__(self, *_):\n        self.found.append(here())\n"
    library += "    def __iter__(self):\n        return self\n"
    library += "    def __next__(self):\n        self.found.append(here())\n"
    library += "        if len(self.found) == 4:\n            raise StopIteration\n"
    names: dict[str, Any] = {"here": Sites([HERE]).here}
    exec(compile(library, "/library/items.py", "exec"), names)
    with names["Items"]() as items:
        for _ in items:
            pass
    assert len(items.found) == 5
    assert all(site.line == site.end_line for site in items.found)


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


def test_what_was_compiled_before_the_observation_is_opaque(tmp_path: Path) -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(function, backend="eager")
    compiled(torch.ones(1))
    observation = Observation(order(tmp_path, untraced=True), "gpu")
    observation.start()
    try:
        compiled(torch.ones(1))
        observation.finish()
    finally:
        observation.stop()
        torch._dynamo.utils.counters.clear()
    assert opaque(observation) == {"compiled": 1}


def function(x: torch.Tensor) -> torch.Tensor:
    return x + 1
