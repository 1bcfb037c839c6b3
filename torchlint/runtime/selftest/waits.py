"""Probes of waits: how often the host waits for the device, by ATen's sources for CUDA and torch's own profiler."""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from torchlint.catalogue.functions import FUNCTIONS
from torchlint.runtime.modes import version
from torchlint.runtime.selftest.running import counts, number, there


def _identity() -> Any:
    return torch.eye(2, device="cuda")


def _parameter(*shape: int) -> Any:
    parameter = nn.Parameter(there(*shape))
    parameter.sum().backward()
    return parameter


def _stepped(kind: Any, **options: Any) -> Any:
    optimizer = kind([_parameter(2, 2)], **options)
    optimizer.step()
    return optimizer


def _scaled() -> None:
    parameter = nn.Parameter(there(2))
    optimizer, scaler = torch.optim.SGD([parameter], 0.1), torch.amp.GradScaler("cuda")
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def _attended() -> Any:
    query = there(1, 1, 2, 8)
    return functional.scaled_dot_product_attention(query, query, query, is_causal=True)


def _packed(*, enforce_sorted: bool = True) -> Any:
    lengths = torch.tensor([3, 2])
    return nn.utils.rnn.pack_padded_sequence(there(2, 3, 1), lengths, batch_first=True, enforce_sorted=enforce_sorted)


def _encoded() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, device="cuda")
    with torch.no_grad():
        nn.TransformerEncoder(layer, 1).eval()(there(2, 3, 4), src_key_padding_mask=there(2, 3) < 0)


def _inference(action: Callable[[], Any]) -> Callable[[], Any]:
    return torch.inference_mode()(action)


def _normal(**options: Any) -> Any:
    return torch.distributions.Normal(there(2), there(2), **options)


def _categorical(**options: Any) -> Any:
    return torch.distributions.Categorical(logits=there(2, 3), **options)


def _called(name: str) -> Callable[[], Any]:
    """A call of a function of the catalogue."""
    owner = next(owner for owner in (torch.linalg, torch, torch.Tensor) if hasattr(owner, name))
    counted = FUNCTIONS[name].counts

    def action() -> Any:
        numbers = there(3).long()
        if counted is not None:
            operands = [numbers > 0 if parameter == "mask" else numbers for parameter in counted.parameters]
        else:
            operands = [_identity()] * (2 if name in _BINARY else 1)
        return getattr(owner, name)(*operands)

    return action


_BINARY = frozenset({"equal", "allclose", "solve", "lstsq"})
# Other probes have the operands that they need.
_ELSEWHERE = frozenset({"is_nonzero", "coalesce", "gaussian_nll_loss", "combinations"})
_SPARSE = torch.zeros(1, 2, dtype=torch.long)

_OPTIMIZERS: tuple[Any, ...] = (
    *(torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad),
    *(torch.optim.RAdam, torch.optim.NAdam, torch.optim.Adadelta, torch.optim.Adamax, torch.optim.Rprop),
)

# No wait, one, several, at least one.
_NONE: dict[str, Callable[[], Any]] = {
    "iterate": lambda: list(there(3)),
    "mask_write_number": lambda: there(3).__setitem__(there(3) > 0, 0.0),
    "masked_fill": lambda: there(3).masked_fill_(there(3) > 0, 0.0),
    "masked_scatter": lambda: there(3).masked_scatter_(there(3) > 0, there(3)),
    "repeat_to_size": lambda: torch.repeat_interleave(there(3), there(3).long(), output_size=3),
    "repeat_number": lambda: torch.repeat_interleave(there(3), 2),
    "sample_normal": lambda: _normal(validate_args=False).rsample(),
    "sample_categorical": lambda: _categorical(validate_args=False).sample(),
    "log_prob": lambda: _categorical(validate_args=False).log_prob(there(2).long()),
    "bernoulli": lambda: torch.bernoulli(there(3) * 0.5),
    "randperm": lambda: torch.randperm(5, device="cuda"),
    "cholesky_ex": lambda: torch.linalg.cholesky_ex(_identity()),
    "solve_ex": lambda: torch.linalg.solve_ex(_identity(), there(2)),
    "inv_ex": lambda: torch.linalg.inv_ex(_identity()),
    "qr": lambda: torch.linalg.qr(_identity()),
    "det": lambda: torch.linalg.det(_identity()),
    "slogdet": lambda: torch.linalg.slogdet(_identity()),
    "vector_norm": lambda: torch.linalg.norm(there(3)),
    "histc_with_limits": lambda: torch.histc(there(3), bins=3, min=0, max=1),
    "topk": lambda: torch.topk(there(3), 2),
    "sort": lambda: torch.sort(there(3)),
    "one_hot_with_classes": lambda: functional.one_hot(there(3).long(), 3),
    "cross_entropy": lambda: functional.cross_entropy(there(2, 3), there(2).long()),
    "clip": lambda: nn.utils.clip_grad_norm_([_parameter(2)], 1.0),
    "tensor_of_tensor": lambda: there(2).detach().clone(),
    "stack": lambda: torch.stack([number(), number()]),
    "times_scalar": lambda: there(2) * number(),
    "power_of_scalar": lambda: there(2) ** number(),
    "clamp_to_scalar": lambda: there(2).clamp(max=number()),
    "packed_sorted": _packed,
    "gru": lambda: nn.GRU(1, 2, device="cuda")(there(2, 3, 1)),
    "attention": _attended,
    "dropout": lambda: functional.dropout(there(3)),
    "convolution": lambda: nn.Conv2d(1, 1, 1, device="cuda")(there(1, 1, 2, 2)),
    "backward": lambda: (there(2).requires_grad_() * 2).sum().backward(),
    "gather": lambda: there(3).gather(0, there(1).long()),
    "scatter_add": lambda: there(3).scatter_add_(0, there(1).long(), there(1)),
    "accumulate": lambda: there(3).index_put_((there(1).long(),), there(1), accumulate=True),
    "fft": lambda: torch.fft.fft(there(4)),
    "pad_sequence": lambda: nn.utils.rnn.pad_sequence([there(3), there(2)]),
    "meshgrid": lambda: torch.meshgrid(there(2), there(3), indexing="ij"),
    "is_all_true": lambda: torch._is_all_true(there(3) > 0),
    **{f"optimizer_{kind.__name__.lower()}": functools.partial(_stepped, kind) for kind in _OPTIMIZERS},
    "optimizer_fused": lambda: _stepped(torch.optim.Adam, fused=True),
    "optimizer_capturable": lambda: _stepped(torch.optim.Adam, capturable=True),
    "optimizer_one_by_one": lambda: _stepped(torch.optim.Adam, foreach=False),
}
_ONE: dict[str, Callable[[], Any]] = {
    "item": lambda: number().item(),
    "float": lambda: float(number()),
    "int": lambda: int(number()),
    "bool": lambda: bool(number()),
    "condition": lambda: 1 if number() > 0 else 0,
    "index": lambda: [0, 1, 2][there(1).long()[0]],
    "range": lambda: range(there(1).long()[0]),
    "tolist": lambda: there(3).tolist(),
    "format": lambda: f"{number():.3f}",
    "percent": lambda: "%.3f" % number(),  # noqa: UP031 - the old way reads, too
    "math": lambda: math.sqrt(number()),
    "largest": lambda: max(number(), number()),
    "contains": lambda: 1.0 in there(3),
    "all": lambda: bool(torch.isfinite(there(3)).all()),
    "where": lambda: torch.where(there(3) > 0),
    "mask_read": lambda: there(3)[there(3) > 0],
    "mask_write_tensor": lambda: there(3).__setitem__(there(3) > 0, there(3)),
    "mask_write_scalar": lambda: there(3).__setitem__(there(3) > 0, number()),
    "one_hot": lambda: functional.one_hot(there(3).long()),
    "allclose_by_name": lambda: torch.allclose(input=there(2), other=there(2)),
    "bincount_of_bytes": lambda: torch.bincount(there(3).byte()),
    "pinv_by_eigenvalues": lambda: torch.linalg.pinv(_identity(), hermitian=True),
    "arange_to_scalar": lambda: torch.arange(there(1).long()[0], device="cuda"),
    "zeros_to_scalar": lambda: torch.zeros(there(1).long()[0], device="cuda"),
    "zeros_of_scalars": lambda: torch.zeros((2, there(1).long()[0]), device="cuda"),
    "full_of_scalar": lambda: torch.full((2,), number(), device="cuda"),
    "full_on_host": lambda: torch.full((2,), number()),
    "fill_host": lambda: torch.ones(2).fill_(number()),
    "slice_to_scalar": lambda: there(3)[: there(1).long()[0]],
    "index_by_scalar": lambda: there(3)[there(1).long()[0]],
    "alpha": lambda: torch.add(there(2), there(2), alpha=number()),
    "validated": lambda: _categorical(validate_args=True),
    "packed_unsorted": lambda: _packed(enforce_sorted=False),
    "gaussian_nll": lambda: functional.gaussian_nll_loss(there(2), there(2), there(2)),
    "grad_scaler": _scaled,
    "plateau": lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(_stepped(torch.optim.SGD, lr=0.1)).step(number()),
    "inference_item": _inference(lambda: number().item()),
    "inference_inv": _inference(lambda: torch.linalg.inv(_identity())),
    "inference_where": _inference(lambda: torch.where(there(3) > 0)),
    "inference_cpu": _inference(lambda: there(3).cpu()),
}
_TWO: dict[str, Callable[[], Any]] = {
    "mask_and_derivative": lambda: there(3).requires_grad_()[there(3) > 0].sum().backward(),
    "repeat_tensor": lambda: torch.repeat_interleave(there(3), there(3).long()),
    "histc": lambda: torch.histc(there(3), bins=3),
    "tensor_of_list": lambda: torch.tensor([number(), number()]),
    "tensor_of_rows": lambda: torch.tensor([[number()], [number()]]),
    "validated_twice": lambda: _normal(validate_args=True),
    # Errors, and whether cuSOLVER's default driver converges: ATen's cuda/linalg/BatchLinearAlgebraLib.cpp.
    "matrix_norm": lambda: torch.linalg.matrix_norm(there(2, 2), 2),
    "two_masks": lambda: there(3, 3)[there(3) > 0, there(3) > 0],
    "mask_of_booleans": lambda: there(2)[[True, False]],
}
_SOME: dict[str, Callable[[], Any]] = {
    "sample": lambda: _normal(validate_args=False).sample(),
    "normal": lambda: torch.normal(there(2), there(2)),
    "combinations": lambda: torch.combinations(there(3)),
    "coalesce": lambda: torch.sparse_coo_tensor(_SPARSE.to("cuda"), there(2), (3,)).coalesce(),
    "nested": _encoded,
}
# How many numbers torch/_tensor_str.py reads to choose a format; before torch 2.9 fewer.
_READ = 8 if version() >= (2, 9) else "6+"
_SHOWN: dict[str, Callable[[], Any]] = {
    "str": lambda: str(number()),
    "print": lambda: print(number(), file=io.StringIO()),
}

PROBES: dict[str, Callable[[str], Any]] = {
    **{
        name: counts(_called(name), waits=function.waits.times)
        for name, function in FUNCTIONS.items()
        if function.waits is not None and function.place != "host" and name not in _ELSEWHERE
    },
    **{name: counts(action, waits=0) for name, action in _NONE.items()},
    **{name: counts(action, waits=1) for name, action in _ONE.items()},
    **{name: counts(action, waits=2) for name, action in _TWO.items()},
    **{name: counts(action, waits="1+") for name, action in _SOME.items()},
    **{name: counts(action, waits=_READ) for name, action in _SHOWN.items()},
}
