"""The simulated GPU: faithful by its self-test, gone when it ends, and told apart from what it cannot do."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from tests.companion_help import confirm, write
from torchlint.runtime import instruments, modes
from torchlint.runtime.instruments.backends import Backends
from torchlint.runtime.labels import device_of
from torchlint.runtime.marks import Marks
from torchlint.runtime.observation import Observation
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.selftest import all_probes
from torchlint.runtime.selftest import run as run_probes
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites

HERE = str(Path(__file__).parent)


def order(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {"torchlint": "test", "run": "test", "directory": str(tmp_path), "roots": [HERE], **more}


def counts(observation: Observation, *kinds: str) -> dict[tuple[str, int], int]:
    """How many events there were, by kind and line."""
    found: dict[tuple[str, int], int] = {}
    for event in observation.recorder.written():
        if event["kind"] in kinds:
            key = (event["kind"], event["site"][1])
            found[key] = found.get(key, 0) + event["count"]
    return found


@pytest.mark.slow
def test_every_probe_of_the_self_test_gives_what_the_cpu_gives_and_that_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(all_probes()) >= 590
    ordered = order(tmp_path, mode="sim", cache=str(tmp_path / "cache"))
    assert modes.resolve(ordered) == ("sim", [])
    monkeypatch.setattr(modes, "_run", lambda _: (["the self-test is run again"], True))
    assert modes.resolve(ordered) == ("sim", [])


def test_a_torch_that_is_not_simulated_faithfully_is_observed_on_the_cpu(tmp_path: Path) -> None:
    mode, notes = modes.resolve(order(tmp_path, mode="sim", selftest=["training.adam", "operations.add"]))
    assert mode == "cpu"
    assert "2 probes of its self-test failed (training.adam, operations.add)" in notes[0]


def test_a_torch_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.3.1+cu121")
    with pytest.raises(modes.Refused, match=r"torch 2\.3\.1\+cu121 is too old: confirm needs 2\.4 or newer"):
        modes.resolve(order(tmp_path, mode="cpu"))


def test_a_run_on_the_cpu_is_chosen_when_nothing_mentions_an_accelerator(tmp_path: Path) -> None:
    assert modes.resolve(order(tmp_path, mode="auto", accelerated=False))[0] == "cpu"
    assert modes.resolve(order(tmp_path, mode="auto", accelerated=True, selftest=[]))[0] == "sim"


def test_a_probe_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint.runtime.selftest import operations

    monkeypatch.setitem(operations.PROBES, "wrong", lambda device: float(device == "cpu"))
    failed = run_probes(["operations.wrong"])
    assert [failure.name for failure in failed] == ["operations.wrong"]


def test_a_probe_that_counts_one_event_where_there_is_none_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint.runtime.selftest import waits
    from torchlint.runtime.selftest.running import counts, number

    monkeypatch.setitem(waits.PROBES, "wrong", counts(lambda: number().item(), waits=0))
    assert [failure.name for failure in run_probes(["waits.wrong"])] == ["waits.wrong"]


@pytest.mark.parametrize("mode", ["sim", "cpu", "gpu"])
def test_nothing_stays_behind(tmp_path: Path, mode: str) -> None:
    owners = [
        torch,
        torch.Tensor,
        torch._C,
        torch._VF,
        torch.cuda,
        torch.nn.functional,
        torch.random,
        torch.utils.data.DataLoader,
        torch.utils.data.dataloader._BaseDataLoaderIter,
        type(torch.backends.cudnn),
        torch.amp.autocast_mode.autocast,
        torch.serialization,
        torch.distributed,
        torch.accelerator,
    ]
    importlib.import_module("torch._dynamo")  # replaces some functions for good, as the first optimizer does
    before = [dict(vars(owner)) for owner in owners]
    observation = Observation(order(tmp_path), mode)
    observation.start()
    assert [dict(vars(owner)) for owner in owners] != before
    observation.stop()
    for owner, names in zip(owners, before, strict=True):
        now = dict(vars(owner))
        changed = {name for name in names if now.get(name) is not names[name]}
        assert not changed, f"{owner}: {sorted(changed)}"
    assert not torch.cuda.is_available()


def test_an_instrument_that_cannot_be_installed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.Tensor.to
    observation = Observation(order(tmp_path), "sim")

    def fail(_instrument: object, _patches: object) -> None:
        raise AttributeError("torch has changed")

    monkeypatch.setattr(Backends, "install", fail)
    with pytest.raises(AttributeError, match="torch has changed"):
        observation.start()
    assert torch.Tensor.to is before
    assert torch.ones(1).add(1).item() == 2


def test_an_instrument_is_found_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        """
        from torchlint.runtime.instrument import Instrument

        class Blink(Instrument):
            def written(self):
                return {"blinked": True}
        """,
        "blink.py",
    )
    monkeypatch.setattr(instruments, "__path__", [*instruments.__path__, str(tmp_path)])
    observation = Observation(order(tmp_path), "cpu")
    observation.start()
    observation.stop()
    monkeypatch.delitem(sys.modules, "torchlint.runtime.instruments.blink")
    assert observation.evidence()["blinked"]


def test_calls_of_functions_methods_and_classes_are_counted_by_name(tmp_path: Path) -> None:
    names = ["torch.relu", "torch.Tensor.sort", "torch.nn.Linear", "torch.nn.NoSuchThing", "torch.no.such.module"]
    observation = Observation(order(tmp_path, functions=names), "cpu")
    observation.start()
    try:
        layer = torch.nn.Linear(2, 2)
        for _ in range(3):
            torch.relu(torch.ones(2)).sort()
        assert isinstance(layer, torch.nn.Linear)
    finally:
        observation.stop()
    found = {facts["function"]: count.number for _, facts, count in observation.recorder.of("call")}
    assert found == {"torch.relu": 3, "torch.Tensor.sort": 3, "torch.nn.Linear": 1}


def test_a_mark_notes_which_results_carry_a_graph(tmp_path: Path) -> None:
    path = write(tmp_path, "w = torch.ones(2, requires_grad=True)\nkept = [{'y': w * 2}, w.detach(), w, 3]\n", "p.py")
    places = [("graph", 8, 20), ("detached", 22, 32), ("leaf", 34, 35), ("number", 37, 38), ("several", 7, 39)]
    wanted = [{"id": name, "span": [2, start, 2, end], "notes": "graphs"} for name, start, end in places]
    marks = Marks({str(path): wanted})
    marks.install()
    exec(marks.compile(path.read_bytes(), str(path)), {"torch": torch})
    found = {name: (mark["tensors"], mark["graphs"]) for name, mark in marks.written().items()}
    assert found == {"graph": (1, 1), "detached": (1, 0), "leaf": (1, 0), "number": (0, 0), "several": (1, 1)}


def copy_by_other_means(x: torch.Tensor) -> None:
    there = torch.zeros(4, 4, device="cuda")
    x.type("torch.cuda.FloatTensor")
    x.type(torch.cuda.HalfTensor)
    x.to("cuda", torch.float16)
    x.copy_(there.double())
    x.type_as(there)
    there.type_as(x)
    there.new_tensor([1.0, 2.0])
    there.new([1.0, 2.0])
    torch.cuda.FloatTensor([1.0, 2.0])
    torch.cuda.FloatTensor(2, 2)
    torch._foreach_copy_([there, x], [x, there])
    pinned = x.pin_memory()
    torch.tensor(pinned, device="cuda")
    torch.as_tensor(pinned, device="cuda")
    torch.asarray(obj=pinned, device="cuda")
    there.new_tensor(pinned)
    there.new_tensor(there)
    torch.as_tensor(there, device="cpu")
    torch.tensor(data=there, device="cpu")


def test_what_the_simulation_counts_is_what_instruments_of_a_real_gpu_see(tmp_path: Path) -> None:
    """The instruments of ``gpu`` mode, on top of the simulated device: both accounts must agree."""
    simulated = Observation(order(tmp_path), "sim")
    simulated.start()
    watching = Observation(order(tmp_path), "gpu")
    watching.start()
    try:
        x = torch.ones(4, 4)
        y = x.to("cuda")
        for _ in range(3):
            y = torch.zeros(4).to("cuda", non_blocking=True)
        y.cpu()
        y.to("cpu")
        y.cuda()
        x.copy_(torch.ones(4, 4, device="cuda"))
        x.pin_memory().cuda(non_blocking=True)
        torch.tensor([1.0, 2.0], device="cuda")
        torch.nn.Linear(4, 4).to("cuda")
        copy_by_other_means(x)
    finally:
        watching.stop()
        simulated.stop()
    assert counts(watching, "upload", "download") == counts(simulated, "upload", "download")
    facts = ("pinned", "non_blocking", "how")
    seen = [
        sorted(
            (e["kind"], e["site"][1], e["bytes"], *(str(e["facts"].get(fact)) for fact in facts))
            for e in one.recorder.written()
            if e["kind"] in ("upload", "download")
        )
        for one in (watching, simulated)
    ]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["cpu", "gpu"])
def test_observing_breaks_no_graph(tmp_path: Path, mode: str) -> None:
    from torch._dynamo.testing import CompileCounter

    def step(x: Any, weight: Any) -> Any:
        y = torch.nn.functional.conv2d(x, weight)
        z = torch.zeros(3).to("cpu").type(torch.float64).type_as(y)
        z[[0, 1]] = z.new_tensor([1.0, 2.0])[1:]
        return y.sum() + z.sum() + torch.tensor(1.0)

    graphs = []
    for observed in (False, True):
        torch._dynamo.reset()
        counter = CompileCounter()
        observation = Observation(order(tmp_path), mode)
        if observed:
            observation.start()
        try:
            compiled = torch.compile(step, backend=counter, fullgraph=True)
            compiled(torch.ones(1, 2, 4, 4), torch.ones(2, 2, 3, 3))
        finally:
            if observed:
                observation.stop()
        graphs.append(counter.frame_count)
    assert graphs == [1, 1]


@pytest.mark.parametrize("mode", ["cpu", "gpu", "sim"])
def test_wrapped_functions_are_still_those_of_torch(tmp_path: Path, mode: str) -> None:
    """Default devices, keywords, lazy parameters and TorchScript work on what stands in for torch's functions."""
    observation = Observation(order(tmp_path), mode)
    observation.start()
    try:
        with torch.device("meta"):
            assert torch.zeros(1).device.type == torch.tensor([1.0]).device.type == "meta"
            assert torch.nn.Linear(1, 1).weight.device.type == "meta"
        x = torch.zeros(2)
        assert x.copy_(other=torch.ones(2)).tolist() == [1, 1]
        assert torch.nn.LazyLinear(2).to("cpu")(torch.ones(1, 3)).shape == (1, 2)
        scripted = torch.jit.script(made)
        assert scripted(torch.ones(1, 2, 4, 4)).shape == (1, 2, 4, 4)
    finally:
        observation.stop()
    assert torch.jit.script(made)(torch.ones(1, 2, 4, 4)).shape == (1, 2, 4, 4)


def made(x: torch.Tensor) -> torch.Tensor:
    return torch.conv2d(x, torch.zeros(2, 2, 1, 1)) + torch.ones(1) + torch.tensor(1.0)


def test_events_stand_at_the_expression_that_caused_them(tmp_path: Path) -> None:
    observation = Observation(order(tmp_path), "sim")
    observation.start()
    try:
        x = torch.ones(3, device="cuda")
        total = float(x.sum()) + x.max().item()
    finally:
        observation.stop()
    assert total == 4.0
    places = [e["site"][1:] for e in observation.recorder.written() if e["kind"] == "sync"]
    assert len({place[0] for place in places}) == 1
    if sys.version_info >= (3, 11):
        columns = sorted((place[1], place[3]) for place in places)
        assert columns[0][1] <= columns[1][0]


def test_memory_of_the_simulated_device_is_not_the_hosts() -> None:
    with Simulation(Recorder(), Sites([])):
        x = torch.ones(3)
        y = x.to("cuda")
        x.add_(1)
        assert (y.device.type, y.is_cuda, device_of(y), device_of(x)) == ("cuda", True, 0, None)
        assert y.tolist() == [1, 1, 1]
        with pytest.raises(RuntimeError, match="same device"):
            x + y
    assert y.device.type == "cpu"


def test_host_memory_is_written_by_indices_of_the_device_which_are_copied() -> None:
    recorder = Recorder()
    with Simulation(recorder, Sites([])):
        host = torch.ones(2, 3)
        there = torch.arange(3, device="cuda")
        host[1][there > 0] = 0
        host[there[:1]] = 5
        with pytest.raises(RuntimeError, match="either on cpu or on the same device"):
            host[there[:1]]
        assert host.tolist() == [[5, 5, 5], [1, 0, 0]]
    downloads = [event for event in recorder.written() if event["kind"] == "download"]
    assert sum(event["count"] for event in downloads) == 2


def test_a_class_that_is_not_simulated_may_be_named() -> None:
    with Simulation(Recorder(), Sites([])):
        assert not isinstance(3, torch.cuda.CUDAGraph)
        assert type(torch.cuda.CUDAGraph | None).__name__ in ("UnionType", "Union")


@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("torch.cuda.CUDAGraph()", "CUDA graphs"),
        ("torch.cuda.make_graphed_callables(print, ())", "CUDA graphs"),
        ("torch.cuda.graph_pool_handle()", "CUDA graphs"),
        ("import torch.utils.cpp_extension as e; e.load_inline('x', '')", "compiled kernels"),
        ("torch.export.export(torch.nn.Linear(1, 1).cuda(), (torch.ones(1, 1).cuda(),))", "on the device"),
        ("import torch.distributed.device_mesh as m; m.init_device_mesh('cuda', (1,))", "DTensor"),
        ("torch.cuda.caching_allocator_alloc(8)", "torch.cuda.caching_allocator_alloc"),
    ],
)
def test_what_is_not_simulated_is_said(tmp_path: Path, program: str, what: str) -> None:
    observation = Observation(order(tmp_path), "sim")
    observation.start()
    try:
        with pytest.raises(RuntimeError, match="is not simulated"):
            exec(compile(program, f"{HERE}/somewhere.py", "exec"), {"torch": torch})
    finally:
        observation.stop()
    assert observation.left is not None
    assert what in observation.left[1]
    assert observation.left[0].line == 1


def test_batch_norm_of_several_ranks_is_that_of_the_whole_batch() -> None:
    from torchlint.runtime.sim import batch_norm

    torch.manual_seed(0)
    x, weight, bias = (
        torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in ((8, 3, 4, 4), (3,), (3,))
    )
    mean, variance = torch.zeros(3).double(), torch.ones(3).double()
    own_mean, own_variance = mean.clone(), variance.clone()
    y = torch.nn.functional.batch_norm(x, mean, variance, weight, bias, True, 0.1, 1e-5)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    sizes, counts = [3, 5], torch.tensor([48.0, 80.0]).double()
    with torch.no_grad():
        parts, stats = x.split(sizes), [batch_norm._stats(part, 1e-5) for part in x.split(sizes)]
        means, invstds = (torch.stack([stat[i] for stat in stats]) for i in (0, 1))
        m, s = batch_norm._gather(x, means, invstds, own_mean, own_variance, 0.1, 1e-5, counts)
        out = torch.cat([batch_norm._elements(part, weight, bias, m, s, 1e-5) for part in parts])
        pairs = list(zip(gradient.split(sizes), parts, strict=True))
        sums = [batch_norm._backward_sums(g, part, m, s, weight, True, True, True) for g, part in pairs]
        whole, scaled, of_weight, of_bias = (sum(each[i] for each in sums) for i in range(4))
        inner = torch.cat([batch_norm._backward_elements(g, p, m, s, weight, whole, scaled, counts) for g, p in pairs])
    found = (out, inner, of_weight, of_bias, own_mean, own_variance)
    for mine, wanted in zip(found, (y, x.grad, weight.grad, bias.grad, mean, variance), strict=True):
        assert torch.allclose(mine, wanted, atol=1e-12)


def test_a_tensor_keeps_its_device_on_the_way_to_another_process(tmp_path: Path) -> None:
    source = """
        import torch
        import torch.multiprocessing as mp

        def work(model, queue):
            queue.put(str(next(model.parameters()).device))

        if __name__ == "__main__":
            model = torch.nn.Linear(2, 2).to("cuda" if torch.cuda.is_available() else "cpu")
            context = mp.get_context("spawn")
            queue = context.Queue()
            child = context.Process(target=work, args=(model, queue))
            child.start()
            print(queue.get())
            child.join()
        """
    write(tmp_path, source)
    assert confirm(tmp_path, "--", "program.py").stdout == "cuda:0\n"


@pytest.mark.parametrize(
    ("line", "doubtful"),
    [
        ("torch.ones(3, device='cuda').view(7)", True),
        ("torch.nn.functional.interpolate(torch.ones(3, device='cuda'))", True),
        ("torch.ones(3) + torch.ones(3, device='cuda')", True),
        ("raise RuntimeError('of the program')", False),
        ("{}['key']", False),
    ],
)
def test_an_exception_of_torch_may_be_the_simulations_which_the_report_says(
    tmp_path: Path, line: str, *, doubtful: bool
) -> None:
    write(tmp_path, f"import torch\ndevice = 'cuda'\n{line}\n")
    done = confirm(tmp_path, "--on", "sim", "--", "program.py")
    assert done.returncode == 1
    assert ("may be the simulation's fault and not the program's" in done.stdout + done.stderr) == doubtful
    assert ("--on cpu" in done.stdout + done.stderr) == doubtful


def test_gradients_are_on_their_devices_although_nothing_watches_the_backward_pass() -> None:
    with Simulation(Recorder(), Sites([])) as simulation:
        weight = torch.ones(3, device="cuda", requires_grad=True)
        (weight * 2).sum().backward()
        assert weight.grad is not None
        assert weight.grad.device.type == "cuda"
        assert not simulation.watchful
        seen: list[str] = []
        weight.register_hook(lambda gradient: seen.append((gradient * 1).device.type))
        (weight * 2).sum().backward()
        assert seen == ["cuda"]
