"""Probes of operations: values are those of the CPU, and results are on the device of the operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.nn import functional

T: TypeAlias = Any  # a tensor


def _on(device: str, *tensors: T) -> None:
    """Check that tensors are on the expected device."""
    for tensor in tensors:
        if tensor.device.type != device:
            raise AssertionError(f"a result is on {tensor.device}")


def _a(device: str, *shape: int) -> T:
    return torch.linspace(-1.0, 2.0, max(1, torch.Size(shape).numel())).reshape(shape).to(device)


def _unary(function: Callable[[T], Any]) -> Callable[[str], float]:
    """A function of a 3 x 4 matrix that returns one or more tensors."""

    def probe(device: str) -> float:
        result = function(_a(device, 3, 4))
        results = result if isinstance(result, tuple) else (result,)
        tensors = [part for part in results if isinstance(part, torch.Tensor)]
        _on(device, *tensors)
        return sum(float(part.double().nan_to_num().sum()) for part in tensors)

    return probe


def _square(function: Callable[[T], Any]) -> Callable[[str], float]:
    """The same for a positive definite matrix."""
    return _unary(lambda x: function(x @ x.mT + torch.eye(3, device=x.device)))


def _masked_write(x: T) -> T:
    y = x.clone()
    y[y > 0] = y[y > 0] * 2
    return y


def _masked_number(x: T) -> T:
    y = x.clone()
    y[y > 0] = 5.0
    return y


def _index_put(x: T) -> T:
    return x.clone().index_put_((torch.tensor([0, 1], device=x.device),), torch.ones(4, device=x.device))


def _host_index(x: T) -> T:
    return x[torch.tensor([2, 0])]


def _scatter(x: T) -> T:
    index = torch.zeros(3, 4, dtype=torch.long, device=x.device)
    return torch.zeros_like(x).scatter_add_(0, index, x)


def _sparse(x: T) -> T:
    matrix = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 2]]), torch.ones(2), (3, 3)).to(x.device)
    return torch.sparse.mm(matrix, x)


def _csr(x: T) -> T:
    return torch.eye(3).to_sparse_csr().to(x.device) @ x


def _out(x: T) -> T:
    result = torch.empty(0, device=x.device)
    torch.add(x, 1, out=result)
    return result


def _into_host(x: T) -> T:
    """A copy into host memory stays on the host."""
    host = torch.empty(3, 4)
    host.copy_(x)
    if host.device.type != "cpu":
        raise AssertionError("the host's memory moved")
    return host.to(x.device)


def _foreach(x: T) -> tuple[T, ...]:
    return tuple(torch._foreach_add(torch._foreach_mul([x, x], 2.0), [x, x]))


def _attention(x: T) -> T:
    query = x.reshape(1, 1, 3, 4)
    return functional.scaled_dot_product_attention(query, query, query, is_causal=True)


def _convolution(x: T) -> T:
    return functional.conv2d(x.reshape(1, 1, 3, 4), torch.ones(2, 1, 2, 2, device=x.device))


def _vmap(x: T) -> T:
    result: T = torch.func.vmap(torch.func.grad(lambda row: (row**2).sum()))(x)
    return result


def _jacobian(x: T) -> T:
    result: T = torch.func.jacrev(lambda row: row.sin())(x[0])
    return result


def _functions() -> dict[str, Callable[[T], Any]]:
    plain = (
        "abs exp sigmoid relu softmax log_softmax cumsum sort argsort max_dim min_dim std var mean norm flip roll tril "
        "triu t contiguous sum_dim prod unbind topk median isnan sign floor round clamp half bfloat16 double long"
    )
    table: dict[str, Callable[[T], Any]] = {
        "softmax": lambda x: x.softmax(1),
        "log_softmax": lambda x: x.log_softmax(1),
        "cumsum": lambda x: x.cumsum(1),
        "max_dim": lambda x: tuple(x.max(1)),
        "min_dim": lambda x: tuple(x.min(0)),
        "norm": lambda x: x.norm(),
        "flip": lambda x: x.flip(0),
        "roll": lambda x: x.roll(1),
        "sort": lambda x: tuple(x.sort(1)),
        "sum_dim": lambda x: x.sum(0),
        "topk": lambda x: tuple(x.topk(2)),
        "unbind": lambda x: tuple(x.unbind(0)),
        "clamp": lambda x: x.clamp(0, 1),
    }
    return {name: table.get(name) or operator.methodcaller(name) for name in plain.split()}


PROBES: dict[str, Callable[[str], Any]] = {
    "identity": _unary(lambda x: x),
    **{name: _unary(function) for name, function in _functions().items()},
    "matmul": _unary(lambda x: x @ x.mT),
    "einsum": _unary(lambda x: torch.einsum("ij,kj->ik", x, x)),
    "cat": _unary(lambda x: torch.cat([x, x])),
    "stack": _unary(lambda x: torch.stack([x, x])),
    "where": _unary(lambda x: torch.where(x > 0, x, 0.0)),
    "number_first": _unary(lambda x: 2 - x / 3),
    "host_number": _unary(lambda x: x * torch.tensor(2.0)),
    "embedding": _unary(lambda x: functional.embedding(torch.tensor([0, 2], device=x.device), x)),
    "one_hot": _unary(lambda x: functional.one_hot(torch.arange(3, device=x.device))),
    "bincount": _unary(lambda x: torch.bincount(torch.tensor([0, 1, 1], device=x.device))),
    "unique": _unary(torch.unique),
    "nonzero": _unary(lambda x: x.nonzero()),
    "masked_select": _unary(lambda x: x[x > 0]),
    "masked_write": _unary(_masked_write),
    "masked_number": _unary(_masked_number),
    "index_put": _unary(_index_put),
    "host_index": _unary(_host_index),
    "scatter": _unary(_scatter),
    "gather": _unary(lambda x: x.gather(1, torch.zeros(3, 1, dtype=torch.long, device=x.device))),
    "sparse": _unary(_sparse),
    "sparse_csr": _unary(_csr),
    "out": _unary(_out),
    "into_host": _unary(_into_host),
    "foreach": _unary(_foreach),
    "attention": _unary(_attention),
    "convolution": _unary(_convolution),
    "vmap_grad": _unary(_vmap),
    "jacobian": _unary(_jacobian),
    "fft": _unary(lambda x: torch.fft.rfft(x).abs()),
    "interpolate": _unary(lambda x: functional.interpolate(x.reshape(1, 1, 3, 4), scale_factor=2)),
    "dropout_eval": _unary(lambda x: functional.dropout(x, training=False)),
    "dropout": _unary(lambda x: functional.dropout(x, 0.5)),
    "multinomial": _unary(lambda x: torch.multinomial(x.softmax(1), 2)),
    "bernoulli": _unary(lambda x: torch.bernoulli(x.sigmoid())),
    "inv": _square(torch.linalg.inv),
    "svd": _square(lambda x: torch.linalg.svd(x)[1]),
    "cholesky": _square(torch.linalg.cholesky),
    "solve": _square(lambda x: torch.linalg.solve(x, torch.ones(3, device=x.device))),
    "eigh": _square(lambda x: torch.linalg.eigh(x)[0]),
    "det": _square(torch.linalg.det),
    # The last bits depend on the alignment of the operands in memory.
    "lstsq": _square(lambda x: torch.linalg.lstsq(x, torch.ones(3, 1, device=x.device))[0].double().round(decimals=4)),
    "allclose": lambda device: torch.allclose(_a(device, 3), _a(device, 3)),
    "equal": lambda device: torch.equal(_a(device, 3), _a(device, 3)),
    "item": lambda device: _a(device, 3).sum().item(),
    "bool": lambda device: bool((_a(device, 3) > 0).any()),
    "tolist": lambda device: _a(device, 2, 2).tolist(),
    "format": lambda device: f"{_a(device, 1)[0]:.3f} {_a(device, 1).sum():.1e}",
    "len_and_iterate": lambda device: [float(v) for v in _a(device, 3)],
    "int_index": lambda device: [10, 20, 30][torch.tensor(1, device=device)],
    "range_of_tensor": lambda device: list(range(torch.tensor(3, device=device))),
}
