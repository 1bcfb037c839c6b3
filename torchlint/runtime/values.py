"""Tensors inside values of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

_DEPTH = 6


def tensors_in(value: Any, depth: int = _DEPTH) -> Iterator[torch.Tensor]:
    """The tensors in a value, in nested dictionaries, sequences and attributes, up to a depth."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, dict):
        for member in value.values():
            yield from tensors_in(member, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for member in value:
            yield from tensors_in(member, depth - 1)
    elif depth and hasattr(value, "__dict__") and not callable(value):
        yield from tensors_in(vars(value), depth - 1)
