"""Probes of mixed precision: results under ``autocast("cuda")``, and host tensors, which stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from torchlint.runtime.selftest.running import gives, refuses, there


def _within(action: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    def region() -> Any:
        with torch.autocast("cuda", **options):
            return action()

    return region


def _dtype(action: Callable[[], Any]) -> Callable[[], str]:
    return lambda: str(action().dtype).rpartition(".")[2]


def _half(*shape: int) -> Any:
    return there(*shape).half()


def _states() -> list[Any]:
    asked = [torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()]
    return [*asked, str(torch.get_autocast_dtype("cuda"))]


def _nested() -> list[str]:
    linear, x = nn.Linear(2, 2).cuda(), there(1, 2)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        outer = linear(x).dtype
        with torch.autocast("cuda", enabled=False):
            inner = linear(x).dtype
        again = linear(x).dtype
    return [str(dtype) for dtype in (outer, inner, again, linear(x).dtype)]


def _both() -> list[Any]:
    """Regions of the host and of the device, one in the other: each has its own state."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        alone = (there(2, 2) @ there(2, 2)).dtype
        with torch.autocast("cuda"):
            inner = [
                torch.is_autocast_enabled("cpu"),
                torch.get_autocast_dtype("cpu"),
                torch.get_autocast_dtype("cuda"),
            ]
            results = [(x @ x).dtype for x in (there(2, 2), torch.ones(2, 2))]
            with torch.autocast("cpu", enabled=False):
                without = [(x @ x).dtype for x in (there(2, 2), torch.ones(2, 2))]
    after = [torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")]
    return [str(found).removeprefix("torch.") for found in (alone, *inner, *results, *without, *after)]


def _recomputed(reentrant: bool, dtype: torch.dtype) -> Callable[[str], Any]:
    """A checkpoint recomputes in the precision of the forward pass."""

    def probe(device: str) -> list[float]:
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(device)
        x = torch.linspace(-1, 1, 12).reshape(3, 4).to(device).requires_grad_()
        with torch.autocast(device, dtype=dtype):
            loss = checkpoint(model, x, use_reentrant=reentrant).float().pow(2).sum()
        loss.backward()
        return [loss.item(), *torch.cat([x.grad.flatten(), model[0].weight.grad.flatten()]).tolist()]

    return probe


def _trained(device: str) -> float:
    """Values are those of the CPU's autocast where both have the same lists."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = model(torch.ones(3, 4).to(device)).float().pow(2).mean()
    loss.backward()
    return loss.item() + float(model[0].weight.grad.sum())


_NARROW: dict[str, Callable[[], Any]] = {
    "linear": lambda: nn.Linear(2, 2).cuda()(there(1, 2)),
    "matmul": lambda: there(2, 2) @ there(2, 2),
    "einsum": lambda: torch.einsum("ij,jk->ik", there(2, 2), there(2, 2)),
    "convolution": lambda: nn.Conv2d(1, 1, 1).cuda()(there(1, 1, 2, 2)),
    "lstm": lambda: nn.LSTM(2, 2).cuda()(there(1, 1, 2))[0],
    "gru": lambda: nn.GRU(2, 2).cuda()(there(1, 1, 2))[0],
    "interpolate": lambda: functional.interpolate(_half(1, 1, 2, 2), scale_factor=2.0),
    "relu": lambda: functional.relu(_half(2)),
}
_FULL: dict[str, Callable[[], Any]] = {
    "softmax": lambda: functional.softmax(_half(2, 2), dim=1),
    "softmax_method": lambda: _half(2, 2).softmax(1),
    "layer_norm": lambda: functional.layer_norm(_half(2, 2), (2,)),
    "cross_entropy": lambda: functional.cross_entropy(_half(2, 3), there(2).long()),
    "mse": lambda: functional.mse_loss(_half(2), _half(2)),
    "exp": lambda: _half(2).exp(),
    "sum": lambda: _half(2).sum(),
    "power": lambda: _half(2) ** 2,
    "norm": lambda: _half(2).norm(),
    "widest": lambda: torch.cat([_half(2), there(2)]),
    "host_linear": lambda: nn.Linear(2, 2)(torch.ones(1, 2)),
    "host_matmul": lambda: torch.ones(2, 2) @ torch.ones(2, 2),
    "host_convolution": lambda: nn.Conv2d(1, 1, 1)(torch.ones(1, 1, 2, 2)),
}

PROBES: dict[str, Callable[[str], Any]] = {
    **{f"narrow_{name}": gives("float16", _within(_dtype(action))) for name, action in _NARROW.items()},
    **{f"full_{name}": gives("float32", _within(_dtype(action))) for name, action in _FULL.items()},
    "dtype": gives("bfloat16", _within(_dtype(_NARROW["linear"]), dtype=torch.bfloat16)),
    "disabled": gives("float32", _within(_dtype(_NARROW["linear"]), enabled=False)),
    "states": gives([True, False, True, "torch.float16"], _within(_states)),
    "nested": gives(["torch.bfloat16", "torch.float32", "torch.bfloat16", "torch.float32"], _nested),
    "trained": _trained,
    "both": gives("float32 True bfloat16 float16 float16 bfloat16 float16 float32 False False".split(), _both),
    "checkpoint": _recomputed(reentrant=False, dtype=torch.bfloat16),
    "checkpoint_reentrant": _recomputed(reentrant=True, dtype=torch.bfloat16),
    "checkpoint_half": _recomputed(reentrant=True, dtype=torch.float16),
    "unsafe": refuses(
        "RuntimeError", _within(lambda: functional.binary_cross_entropy(there(2) * 0.5, there(2))), "unsafe to autocast"
    ),
}
