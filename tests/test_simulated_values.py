"""The simulated GPU computes what the program computes on the CPU, and what it says of memory and graphs is CUDA's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

import numpy as np

from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites


@pytest.mark.parametrize(
    "data", [0.5, np.float64(0.5), np.array(0.5), np.ones(2, np.float32), [np.float64(1.0)], torch.ones(2)], ids=repr
)
@pytest.mark.parametrize("make", [torch.tensor, torch.asarray], ids=["tensor", "asarray"])
def test_what_is_made_from_data_is_a_leaf_with_memory_of_its_own(data: Any, make: Any) -> None:
    with Simulation(Recorder(), Sites([])):
        made = getattr(torch, make.__name__)(data, dtype=torch.float64, device="cuda", requires_grad=True)
        assert (made.is_leaf, made.requires_grad, made.device.type) == (True, True, "cuda")
        before = made.tolist()
        (made * 2).sum().backward()
        with torch.no_grad():
            made.zero_()
        assert torch.asarray(data, dtype=torch.float64).tolist() == before


def test_what_is_made_from_a_tensor_has_its_graph_only_where_torch_says_so() -> None:
    with Simulation(Recorder(), Sites([])):
        weight = torch.ones(2, requires_grad=True)
        assert not torch.tensor(weight, device="cuda").requires_grad
        assert not torch.asarray(weight, device="cuda", requires_grad=False).requires_grad
        torch.as_tensor(weight, device="cuda").sum().backward()
        assert weight.grad is not None
        assert weight.grad.device.type == "cpu"
        there = torch.ones(2, device="cuda", requires_grad=True) * 2
        assert not torch.tensor(there, device="cpu").requires_grad
        assert torch.as_tensor(there, device="cpu").requires_grad
        with pytest.raises(ValueError, match="can't alias tensor from device 'cpu' to 'cuda:0'"):
            torch.asarray(weight, device="cuda", copy=False)


def test_memory_of_a_buffer_is_copied_to_the_device() -> None:
    buffer = bytearray(2)
    with Simulation(Recorder(), Sites([])), torch.device("cuda"):
        made = torch.asarray(buffer, dtype=torch.uint8)
        buffer[0] = 9
        assert made.tolist() == [0, 0]
        assert torch.frombuffer(buffer, dtype=torch.uint8).device.type == "cpu"


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.parametrize("amp", [False, True])
def test_nested_tensors_train_as_on_the_cpu(layout: torch.layout, *, amp: bool) -> None:
    def trained(device: str) -> tuple[float, list[Any]]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 2).to(device)
        nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.full((3, 4), 0.3)], layout=layout).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=amp):
            out = layer(nested)
        assert {part.device.type for part in (out, *out.unbind())} == {device}
        loss = torch.nested.to_padded_tensor(out, 0.0).float().pow(2).sum()
        loss.backward()
        return loss.item(), layer.weight.grad.tolist()

    wanted = trained("cpu")
    with Simulation(Recorder(), Sites([])):
        assert trained("cuda") == wanted


def test_a_nested_tensor_of_the_host_does_not_mix_with_one_of_the_device() -> None:
    with Simulation(Recorder(), Sites([])):
        host = torch.nested.nested_tensor([torch.ones(2, 4)])
        with pytest.raises(RuntimeError, match="same device"):
            host + torch.nested.nested_tensor([torch.ones(2, 4)], device="cuda")


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_under_autocast_recomputes_what_it_has_computed(*, reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    def trained(device: str) -> tuple[float, list[Any], list[Any]]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).to(device)
        x = torch.linspace(-1, 1, 24).reshape(3, 8).to(device).requires_grad_()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = checkpoint(model, x, use_reentrant=reentrant).float().pow(2).sum()
        loss.backward()
        return loss.item(), x.grad.tolist(), model[0].weight.grad.tolist()

    wanted = trained("cpu")
    with Simulation(Recorder(), Sites([])):
        assert trained("cuda") == wanted


def test_autocast_of_the_host_and_of_the_device_have_states_of_their_own() -> None:
    before = (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    with Simulation(Recorder(), Sites([])):
        host, there = torch.ones(2, 2), torch.ones(2, 2, device="cuda")
        with torch.autocast("cuda", dtype=torch.float16):
            assert torch.get_autocast_dtype("cpu") is torch.bfloat16
            assert not torch.is_autocast_cpu_enabled()
            with torch.autocast("cpu"):
                assert [(host @ host).dtype, (there @ there).dtype] == [torch.bfloat16, torch.float16]
                torch.set_autocast_enabled("cpu", False)
                assert [(host @ host).dtype, (there @ there).dtype] == [torch.float32, torch.float16]
            with torch.autocast("cuda", enabled=False):
                assert (there @ there).dtype is torch.float32
        with torch.autocast("cpu"):
            assert [(host @ host).dtype, (there @ there).dtype] == [torch.bfloat16, torch.float32]
    assert (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")) == before


def test_an_index_of_the_device_into_memory_of_the_host_is_one_number_that_is_waited_for() -> None:
    recorder = Recorder()
    with Simulation(recorder, Sites([])):
        one, several = torch.tensor(1, device="cuda"), torch.tensor([0, 2], device="cuda")
        array = np.array([10, 20, 30])
        assert [[10, 20, 30][one], array[one], list(range(3))[:one]] == [20, 20, [0]]
        waits = sum(event["count"] for event in recorder.written() if event["kind"] == "sync")
        assert waits == 3
        for index in (several, several > 0):
            with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
                array[index]
        with pytest.raises(TypeError, match="only integer tensors of a single element"):
            [10, 20, 30][several]


def test_a_nested_tensor_in_pinned_memory_is_copied_to_the_device() -> None:
    with Simulation(Recorder(), Sites([])):
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        assert nested.pin_memory().to("cuda").device.type == "cuda"


@pytest.mark.parametrize("watched", [False, True])
def test_a_backward_pass_copies_indices_of_the_host_again(*, watched: bool) -> None:
    recorder = Recorder()
    with Simulation(recorder, Sites([])):
        weight = torch.ones(4, 4, device="cuda", requires_grad=True)
        rows, columns = torch.triu_indices(4, 4, offset=1)
        if watched:
            weight.register_hook(torch.Tensor.clone)

        def uploads() -> int:
            return sum(event["count"] for event in recorder.written() if event["kind"] == "upload")

        cases: list[tuple[Callable[[torch.Tensor], Any], int, int]] = [
            (lambda x: x.__setitem__((rows, columns), 0.0), 3, 3),  # and the number
            (lambda x: x.__setitem__((rows.cuda(), columns.cuda()), 0.0), 3, 1),
            (lambda x: x.__setitem__(x > 0, 0.0), 0, 0),
            (lambda x: x[rows, columns], 2, 2),
            (lambda x: x[[0, 1], [1, 2]], 2, 0),  # a list becomes a tensor of the device
            (lambda x: x[rows.cuda(), columns.cuda()], 2, 0),
            (lambda x: x.detach()[rows, columns], 2, 0),
        ]
        for change, forward, backward in cases:
            before, x = uploads(), weight * 2
            made = change(x)
            between = uploads()
            (x.sum() + (0 if made is None else made.sum())).backward()
            assert (between - before, uploads() - between) == (forward, backward)


def test_a_backward_pass_of_ctc_loss_copies_the_lengths_again() -> None:
    recorder = Recorder()
    targets = torch.tensor([[1, 2]])

    def gradient(device: str) -> list[Any]:
        scores = torch.linspace(0, 1, 15).reshape(5, 1, 3).to(device).requires_grad_()
        loss = torch.nn.functional.ctc_loss(scores.log_softmax(2), targets.to(device), (5,), (2,))
        loss.backward()
        assert scores.grad is not None
        assert scores.grad.device.type == device
        return list(scores.grad.flatten().tolist())

    wanted = gradient("cpu")
    with Simulation(recorder, Sites([])):
        assert gradient("cuda") == wanted
    again = [event for event in recorder.written() if event["facts"].get("how") == "derivative"]
    assert [(event["kind"], event["count"], event["bytes"]) for event in again] == [("upload", 3, 24)]


def test_printing_reads_each_number_and_changes_no_text() -> None:
    recorder = Recorder()
    shown = [torch.tensor(2.5), torch.ones(3), torch.arange(4).reshape(2, 2), torch.zeros(0), torch.ones(2).bool()]
    with Simulation(recorder, Sites([])):
        for tensor in shown:
            there = tensor.cuda()
            before = sum(event["count"] for event in recorder.written() if event["kind"] == "sync")
            assert repr(there).replace(", device='cuda:0'", "") == repr(tensor)
            after = sum(event["count"] for event in recorder.written() if event["kind"] == "sync")
            assert after - before >= tensor.numel()
    assert {event["facts"]["why"] for event in recorder.written() if event["kind"] == "sync"} == {"print"}


def test_graphs_that_were_dropped_copy_no_indices_in_a_later_backward_pass() -> None:
    recorder = Recorder()
    with Simulation(recorder, Sites([])):
        weight = torch.ones(4, 4, device="cuda", requires_grad=True)

        def events() -> int:
            return sum(event["count"] for event in recorder.written() if event["kind"] in ("sync", "upload"))

        for _ in range(5):
            (weight * 2)[torch.tensor([0, 2])].sum()
            (weight * 2)[weight.detach() > 0].sum()
        before = events()
        (weight * 2).sum().backward()
        assert events() == before


def test_functions_of_data_parallel_and_streams_are_called_as_on_cuda() -> None:
    recorder = Recorder()
    with Simulation(recorder, Sites([])):
        model, x = torch.nn.Linear(3, 2).cuda(), torch.ones(4, 3)
        torch.ones(2, device="cuda").record_stream(s=torch.cuda.current_stream())
        recorder.counts.clear()
        torch.nn.DataParallel(model)(x)
        torch.nn.parallel.data_parallel(model, x, device_ids=[0])
        uploads = [(facts["non_blocking"], count.number) for _, facts, count in recorder.of("upload")]
    assert uploads
    assert all(non_blocking for non_blocking, _ in uploads)


def test_dynamo_is_reset_although_there_are_no_graphs_of_cuda() -> None:
    import torch._dynamo

    with Simulation(Recorder(), Sites([])):
        torch._dynamo.reset()
        assert torch.cuda.is_available()


def test_fake_tensors_of_the_device_end_the_simulation() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with Simulation(Recorder(), Sites([])), FakeTensorMode():
        assert torch.ones(2).device.type == "cpu"
        with pytest.raises(RuntimeError, match="FakeTensorMode with tensors of the device is not simulated"):
            torch.ones(2, device="cuda")


def test_a_process_group_with_a_backend_for_each_device_takes_tensors_of_both(tmp_path: Any) -> None:
    import torch.distributed as dist

    with Simulation(Recorder(), Sites([])):
        place = f"file://{tmp_path / 'store'}"
        dist.init_process_group("cpu:gloo,cuda:nccl", init_method=place, rank=0, world_size=1)
        try:
            host, there = torch.ones(2), torch.ones(2, device="cuda")
            dist.all_reduce(host)
            dist.all_reduce(there)
            assert (host.tolist(), there.tolist(), there.device.type) == ([1, 1], [1, 1], "cuda")
        finally:
            dist.destroy_process_group()


@pytest.mark.parametrize("copy", ["contiguous()", "reshape(-1)", "flatten()", "reshape_as(torch.ones(6))"])
def test_what_inference_mode_copies_stays_on_the_device(copy: str) -> None:
    with Simulation(Recorder(), Sites([])), torch.inference_mode():
        turned = torch.arange(6.0, device="cuda").view(2, 3).t()
        copied = eval(f"turned.{copy}")
        assert copied.device.type == "cuda"
        assert copied.tolist() == (turned.tolist() if copy == "contiguous()" else [0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
