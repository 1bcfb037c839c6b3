"""Probes of signatures: what stands in for a function of torch takes the arguments that the function takes, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchlint.runtime.selftest.running import gives, simulation, there

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
# Called by C++ or by torch alone, always by position.
_INTERNAL = frozenset(("__init__", "__enter__", "__exit__", "run", "_make_grads", "_engine_run_backward"))


def _unnamed() -> list[str]:
    """The replaced functions that do not take all arguments of the original by name."""
    return sorted({name for name, now, before in _pairs() if not _takes(now, _names(before))})


def _pairs() -> Iterator[tuple[str, Any, Any]]:
    for owner, name, before in simulation().patches.replaced():
        now = getattr(owner, name, None)
        if callable(now) and callable(before) and name not in _INTERNAL:
            yield f"{getattr(owner, '__name__', owner)}.{name}", now, before


def _names(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return []
    return [parameter.name for parameter in parameters if parameter.kind in _NAMED and parameter.name != "self"]


def _takes(function: Any, names: list[str]) -> bool:
    try:
        signature = inspect.signature(function, follow_wrapped=False)
        signature.bind_partial(**dict.fromkeys(names))
    except ValueError:  # written in C
        return True
    except TypeError:
        return False
    return True


def _on(call: Callable[[], Any]) -> Callable[[], str]:
    return lambda: str(call().device)


# Functions written in C, which have no signatures: every argument by its name.
_CALLS: dict[str, Callable[[], Any]] = {
    "arange": lambda: torch.arange(start=0, end=4, step=2, dtype=torch.long, device="cuda", requires_grad=False),
    "asarray": lambda: torch.asarray(obj=[1.0], dtype=torch.half, device="cuda", copy=True),
    "as_tensor": lambda: torch.as_tensor(data=[1.0], dtype=torch.half, device="cuda"),
    "empty": lambda: torch.empty(size=(2,), dtype=torch.half, layout=torch.strided, device="cuda", pin_memory=False),
    "empty_like": lambda: torch.empty_like(input=there(2), dtype=torch.half, memory_format=torch.preserve_format),
    "empty_strided": lambda: torch.empty_strided(size=(2, 2), stride=(2, 1), device="cuda"),
    "eye": lambda: torch.eye(n=2, m=3, device="cuda"),
    "full": lambda: torch.full(size=(2,), fill_value=1.5, device="cuda"),
    "full_like": lambda: torch.full_like(input=there(2), fill_value=1.5),
    "linspace": lambda: torch.linspace(start=0, end=1, steps=3, device="cuda"),
    "normal": lambda: torch.normal(mean=there(2), std=there(2)),
    "rand": lambda: torch.rand(size=(2,), device="cuda", generator=torch.Generator(device="cuda")),
    "rand_like": lambda: torch.rand_like(input=there(2)),
    "randint": lambda: torch.randint(low=0, high=3, size=(2,), device="cuda"),
    "randperm": lambda: torch.randperm(n=3, device="cuda"),
    "scalar_tensor": lambda: torch.scalar_tensor(1.0, dtype=torch.half, device="cuda"),
    "tensor": lambda: torch.tensor(data=[1.0], dtype=torch.half, device="cuda", requires_grad=True),
    "zeros": lambda: torch.zeros(size=(2,), out=None, dtype=torch.half, device="cuda"),
    "zeros_like": lambda: torch.zeros_like(input=there(2), dtype=torch.half, device="cuda"),
    "sparse": lambda: torch.sparse_coo_tensor(indices=[[0]], values=[1.0], size=(2,), device="cuda").to_dense(),
    "new_tensor": lambda: there(2).new_tensor(data=[1.0], dtype=torch.half, requires_grad=False),
    "new_full": lambda: there(2).new_full(size=(2,), fill_value=1.0, dtype=torch.half),
    "new_zeros": lambda: there(2).new_zeros(size=(2,), dtype=torch.half),
    "new_empty": lambda: there(2).new_empty(size=(2,)),
    "new_empty_strided": lambda: there(2).new_empty_strided(size=(2,), stride=(1,)),
    "to": lambda: torch.ones(2).to(device="cuda", dtype=torch.half, non_blocking=True, copy=True),
    "to_format": lambda: torch.ones(1, 1, 2, 2).to(device="cuda", memory_format=torch.channels_last),
    "cuda": lambda: torch.ones(2).cuda(device="cuda:0", non_blocking=True, memory_format=torch.preserve_format),
    "type": lambda: torch.ones(2).type(dtype="torch.cuda.HalfTensor", non_blocking=True),
    "type_as": lambda: torch.ones(2).type_as(other=there(1)),
    "copy_": lambda: there(2).copy_(other=torch.ones(2), non_blocking=True),
    "allclose": lambda: torch.tensor(torch.allclose(input=there(2), other=there(2), rtol=0, atol=0), device="cuda"),
    "one_hot": lambda: torch.nn.functional.one_hot(there(2).long(), num_classes=3),
    "ctc_loss": lambda: torch.nn.functional.ctc_loss(
        log_probs=there(5, 1, 3).log_softmax(2),
        targets=torch.ones(1, 2, dtype=torch.long, device="cuda"),
        input_lengths=(5,),
        target_lengths=(2,),
    ),
    "lstsq": lambda: torch.linalg.lstsq(input=torch.eye(2, device="cuda"), b=there(2, 1), rcond=None)[0],
    "pinv": lambda: torch.linalg.pinv(input=torch.eye(2, device="cuda"), hermitian=True),
}
_HOST: dict[str, Callable[[], Any]] = {
    "cpu": lambda: there(2).cpu(memory_format=torch.preserve_format),
    "to_cpu": lambda: there(2).to(device="cpu", non_blocking=False, copy=False),
    "pin_memory": lambda: torch.ones(2).pin_memory(device="cuda"),
    "from_numpy": lambda: torch.from_numpy(there(2).numpy(force=True)),
}

PROBES: dict[str, Callable[[str], Any]] = {
    "named": gives([], _unnamed),
    **{name: gives("cuda:0", _on(call)) for name, call in _CALLS.items()},
    **{name: gives("cpu", _on(call)) for name, call in _HOST.items()},
}
