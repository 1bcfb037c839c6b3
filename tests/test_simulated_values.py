"""The simulated GPU computes what the program computes on the CPU, and what it says of memory and graphs is CUDA's."""

from __future__ import annotations

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
