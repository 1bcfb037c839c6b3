"""Observation on a GPU, as far as it can be tested without one: modes, sites, what is not observed."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from tests.gpu_help import HERE, order
from torchlint.runtime import modes
from torchlint.runtime.observation import Observation
from torchlint.runtime.sites import Site, Sites


@pytest.fixture
def observing(tmp_path: Path) -> Iterator[Observation]:
    """An observation in ``gpu`` mode."""
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    yield observation
    observation.stop()


# -- modes -----------------------------------------------------------------------------------------


def test_a_self_test_that_was_interrupted_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "_run", lambda: (["the self-test itself (status -9)"], False))
    ordered = order(tmp_path, mode="sim", cache=str(tmp_path / "cache"))
    assert modes.resolve(ordered)[0] == "cpu"
    monkeypatch.setattr(modes, "_run", lambda: ([], True))
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
    observation = Observation(order(tmp_path), "gpu")
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
