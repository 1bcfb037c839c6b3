"""Probes of mixtures: operands on several devices, which CUDA refuses or allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from torchlint.runtime.selftest.running import gives, number, refuses, there

_SAME = "same device"


def _here(*shape: int) -> Any:
    return torch.ones(*shape)


def _assigned() -> None:
    there(2).requires_grad_().grad = _here(2)


def _pinned() -> None:
    list(torch.utils.data.DataLoader([there(2)], pin_memory=True))


def _clipped() -> str:
    parameters = [nn.Parameter(there(2)), nn.Parameter(_here(2))]
    for parameter in parameters:
        parameter.sum().backward()
    return nn.utils.clip_grad_norm_(parameters, 1.0).device.type


def _packed(lengths: Any) -> Any:
    return nn.utils.rnn.pack_padded_sequence(there(2, 3, 1), lengths, batch_first=True)


def _lengths() -> list[str]:
    output, lengths = nn.utils.rnn.pad_packed_sequence(nn.LSTM(1, 2).cuda()(_packed(torch.tensor([3, 2])))[0])
    return [output.device.type, lengths.device.type]


def _ctc() -> str:
    inputs, targets = there(5, 1, 3).log_softmax(2), torch.ones(1, 2, dtype=torch.long, device="cuda")
    return functional.ctc_loss(inputs, targets, torch.tensor([5]), torch.tensor([2])).device.type


_REFUSED: dict[str, Callable[[], Any]] = {
    "scalar_of_device": lambda: _here(3) + number(),
    "stack": lambda: torch.stack([there(2), _here(2)]),
    "stack_of_scalars": lambda: torch.stack([there(2).norm(), _here(2).norm()]),
    "linear": lambda: nn.Linear(2, 2)(there(1, 2)),
    "embedding": lambda: nn.Embedding(3, 2).cuda()(torch.tensor([1])),
    "cross_entropy": lambda: functional.cross_entropy(there(2, 3), torch.tensor([0, 1])),
    "equal": lambda: torch.equal(there(3), _here(3)),
    "allclose": lambda: torch.allclose(there(3), _here(3)),
    "compare": lambda: there(3) == _here(3),
    "power": lambda: there(3) ** _here(3),
    "clamp": lambda: there(3).clamp(min=_here(3)),
    "array": lambda: there(3) * torch.from_numpy(np.ones(3, np.float32)),
    "loader": lambda: there(2) * next(iter(torch.utils.data.DataLoader(_here(2), batch_size=2))),
    "derived": lambda: there(3) + (_here(3) * 2).sum(0, keepdim=True),
    "legacy": lambda: there(3) + torch.Tensor([1.0, 2.0, 3.0]),
    "parameter": lambda: nn.Parameter(_here(3)) * there(3),
    "foreach": lambda: torch._foreach_add([there(2)], [_here(2)]),
    "lerp": lambda: there(2).lerp(_here(2), 0.5),
    "index_select": lambda: there(3).index_select(0, torch.tensor([0])),
    "gather": lambda: there(3).gather(0, torch.tensor([0])),
    "masked_fill": lambda: there(3).masked_fill(_here(3) > 0, 0.0),
    "attention": lambda: functional.scaled_dot_product_attention(
        there(1, 1, 2, 8), _here(1, 1, 2, 8), there(1, 1, 2, 8)
    ),
    "batch_norm": lambda: functional.batch_norm(there(2, 2), torch.zeros(2), torch.ones(2), training=True),
    "hidden_state": lambda: nn.GRU(2, 2).cuda()(there(1, 1, 2), torch.zeros(1, 1, 2)),
    "out": lambda: torch.add(there(2), there(2), out=_here(2)),
    "index_write": lambda: there(4).__setitem__(torch.tensor([0, 1], device="cuda"), _here(2)),
    "index_put": lambda: there(3).index_put_((torch.tensor([0, 1], device="cuda"),), _here(2)),
}
_OTHER: dict[str, tuple[str, Callable[[], Any], str]] = {
    "host_by_device": (
        "RuntimeError",
        lambda: _here(3)[torch.tensor([0], device="cuda")],
        "indices should be either on cpu",
    ),
    "host_by_device_mask": ("RuntimeError", lambda: _here(3)[there(3) > 0], "indices should be either on cpu"),
    "convolution": (
        "RuntimeError",
        lambda: nn.Conv2d(1, 1, 1)(there(1, 1, 2, 2)),
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    ),
    "gradient_passed": ("RuntimeError", lambda: (there(2).requires_grad_() * 2).backward(_here(2)), "invalid gradient"),
    "gradient_assigned": ("RuntimeError", _assigned, "different device"),
    "lengths": ("RuntimeError", lambda: _packed((there(2) * 3).long()), "should be a 1D CPU int64 tensor"),
    "pinned_batch": ("RuntimeError", _pinned, "pin"),
    "pinned_on_device": ("RuntimeError", lambda: torch.zeros(3, device="cuda", pin_memory=True), "pinned"),
    "ordinal": ("RuntimeError/AcceleratorError", lambda: _here(2).to("cuda:7"), "invalid device ordinal"),
    "arrays": ("TypeError", lambda: np.stack([there(2), there(2)]), "can't convert"),
    "mean_of_scalars": ("TypeError", lambda: np.mean([number(), number()]), "can't convert cuda:0"),
    "array_times": ("TypeError", lambda: np.ones(3) * there(3), ""),
    "graph": ("Unsimulated", lambda: torch.cuda.CUDAGraph(), "CUDA graphs"),  # noqa: PLW0108 - replaced later
    "export": ("Unsimulated", lambda: torch.export.export(nn.Linear(1, 1).cuda(), (there(1, 1),)), "not simulated"),
}

PROBES: dict[str, Callable[[str], Any]] = {
    **{name: refuses("RuntimeError", action, _SAME) for name, action in _REFUSED.items()},
    **{name: refuses(error, action, text) for name, (error, action, text) in _OTHER.items()},
    "allowed_scalar": gives(["cuda:0"] * 2, lambda: [str(x.device) for x in (_here(1)[0] + there(2), there(2) + 1)]),
    "allowed_fill": gives("cuda:0", lambda: str(there(2).fill_(torch.tensor(3.0)).device)),
    "allowed_fill_of_host": gives([3.0, 3.0], lambda: _here(2).fill_(number() * 3).tolist()),
    "allowed_where": gives("cuda:0", lambda: str(torch.where(there(2) > 0, there(2), torch.tensor(0.0)).device)),
    "allowed_clip": gives("cuda", _clipped),
    "allowed_lengths": gives(["cuda", "cpu"], _lengths),
    "allowed_ctc": gives("cuda", _ctc),
}
