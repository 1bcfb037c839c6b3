"""Inputs of programs: functions that create arrays and tensors, by name. Each call creates a new object."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch


def _numbers(dtype: str) -> Any:
    return (np.arange(12).reshape(3, 4) % 7 - 2).astype(dtype)


class _Array(np.ndarray):
    """An array subclass."""


class _Tensor(torch.Tensor):  # type: ignore[misc]
    """A tensor subclass."""


class _Own:
    """An object whose ``__array__`` returns its own memory, even if a copy is requested."""

    def __init__(self) -> None:
        self.memory = np.arange(4.0)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.memory

    def __len__(self) -> int:
        return len(self.memory)


class _New(_Own):
    """An object whose ``__array__`` always returns a new array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.memory.astype(dtype or np.float32)


def _locked(array: Any) -> Any:
    array.flags.writeable = False
    return array


def made(value: Any) -> Any:
    """A new object with this name; any other value stands for itself."""
    return MAKERS[value]() if isinstance(value, str) and value in MAKERS else value


MAKERS: dict[str, Callable[[], Any]] = {
    "f16": partial(_numbers, "f2"),
    "f32": lambda: _numbers("f4") / 3,
    "f64": lambda: _numbers("f8") / 3,
    "i8": partial(_numbers, "i1"),
    "i32": partial(_numbers, "i4"),
    "i64": lambda: _numbers("i8") * 2**40,
    "u8": lambda: np.arange(6, dtype=np.uint8),
    "bool": lambda: _numbers("f4") > 0,
    "complex": partial(_numbers, "c8"),
    "fortran": lambda: np.asfortranarray(_numbers("f8")),
    "transposed": lambda: _numbers("f4").reshape(2, 3, 2).transpose(2, 0, 1),
    "scalar": lambda: np.array(2.5),
    "empty": lambda: np.zeros((0, 3), dtype=np.float32),
    "nan": lambda: np.array([np.nan, np.inf, -np.inf, -0.0, 1e300, 1e-320]),
    "tensor": lambda: torch.arange(4.0) / 3,
    "half": partial(torch.linspace, 0.0, 1.0, 4, dtype=torch.float16),
    "integers": partial(torch.arange, 5),
    "none": lambda: torch.zeros(0, 3),
    "one": lambda: torch.tensor([1 / 3]),
    "one-half": lambda: torch.tensor([1 / 3]).half(),
    "zero-d": lambda: torch.tensor(1 / 3),
    "1x1": lambda: torch.tensor([[2.5]]),
    "gradient": lambda: torch.tensor([1 / 3], requires_grad=True),
    "matrix": lambda: torch.ones(2, 3),
    "shape array": lambda: np.array([2, 3]),
    # arrays whose memory torch cannot share, or only partly
    "reversed": lambda: _numbers("f4")[::-1],
    "sliced": lambda: _numbers("f8")[::2, 1:],
    "broadcast": lambda: np.broadcast_to(np.arange(3.0), (2, 3)),
    "read-only": lambda: _locked(_numbers("f4")),
    "swapped": lambda: _numbers(">f4"),
    "u16": partial(_numbers, "u2"),
    "u64": lambda: np.array([0, 2**63, 2**64 - 1], dtype=np.uint64),
    "i64 edges": lambda: np.array([-(2**63), 2**63 - 1, 2**53 + 1]),
    "not a number": lambda: np.array(np.nan),
    "c128": lambda: _numbers("c16") * (1 - 0.5j),
    "f16 edges": lambda: np.array([65504, -65504, 6e-8, -0.0, np.nan], dtype=np.float16),
    "payload": lambda: np.array([0x7FC12345, 0xFFC00001, 0x7F800001], dtype=np.uint32).view(np.float32),
    "objects": lambda: np.array([1, None, 2.5], dtype=object),
    "words": lambda: np.array(["a", "b"]),
    "dates": lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    "masked": lambda: np.arange(4.0).view(np.ma.MaskedArray),
    "np.matrix": lambda: np.asmatrix(np.arange(4.0).reshape(2, 2)),
    "array subclass": lambda: np.arange(4.0).view(_Array),
    "own memory": _Own,
    "new memory": _New,
    "list": lambda: [1, 2, 3],
    "nested list": lambda: [[1.5, 2.0], [3.0, -0.0]],
    "empty list": list,
    "parameter": lambda: torch.nn.Parameter(torch.arange(3.0)),
    "tensor subclass": lambda: torch.arange(3.0).as_subclass(_Tensor),
    "strided tensor": lambda: torch.arange(12.0).reshape(3, 4).t()[::2],
    "expanded tensor": lambda: torch.arange(3.0).expand(2, 3),
    "meta tensor": lambda: torch.empty(3, device="meta"),
    "bf16": lambda: torch.tensor([1 / 3, -0.0, float("inf")], dtype=torch.bfloat16),
    "complex tensor": lambda: torch.tensor([1 + 2j, 0.5]),
    "bools": lambda: torch.tensor([True, False]),
    "byte tensor": lambda: torch.tensor([1, 255], dtype=torch.uint8),
    "bool number": lambda: torch.tensor(True),
    "cube": lambda: torch.arange(8.0).reshape(2, 2, 2),
    "double": lambda: torch.tensor([1 / 3, 1e300, -0.0], dtype=torch.float64),
    "size": lambda: torch.Size((2, 3)),
    "count": lambda: np.int64(3),
    "zero-d count": lambda: np.array(3),
    "tensor count": lambda: torch.tensor(3),
}
