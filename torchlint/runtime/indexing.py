"""Copies that ``x[i] = y`` makes: of ``y`` across devices, and of indices of the host for a tensor of a device.

Reading by index is not wrapped: a Python ``__getitem__`` of a type makes it a sequence for CPython, so that
``torch.tensor([x, y])`` would take the length of ``x`` and ``y``. What it waits for is reported by torch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from torchlint.runtime.copies import TENSOR, Copies, T, where
from torchlint.runtime.labels import size_of
from torchlint.runtime.patches import Patches

_PLAIN = frozenset((int, slice, type(None), type(Ellipsis), bool))
_is_compiling = torch.compiler.is_compiling


def install(copies: Copies, patches: Patches) -> None:
    """Wrap writing by index."""
    patches.set(TENSOR, "__setitem__", _setitem(copies, TENSOR.__setitem__))


def _setitem(copies: Copies, real: Any) -> Any:
    @functools.wraps(real)
    def __setitem__(tensor: T, index: Any, value: Any) -> None:  # noqa: N807 - torch's name
        if _is_compiling() or copies.inside:
            real(tensor, index, value)
            return
        across = isinstance(value, TENSOR) and _copied(value, tensor)
        uploads = [] if type(index) in _PLAIN or not tensor.is_cuda else list(_of_host(index))
        if not across and not uploads:
            real(tensor, index, value)
            return
        _, spent = copies.timed(real, (tensor, index, value), {})
        _indexed(copies, uploads, 0 if across else spent)
        waits = len(uploads)
        if across:
            waits += copies.moved(value, tensor, "copy_", spent, non_blocking=False)
        copies.settle(waits)

    return __setitem__


def _copied(value: T, tensor: T) -> bool:
    """Whether a value has to be copied. One number on the host is passed to the device like an argument."""
    return where(value) != where(tensor) and (value.is_cuda or value.dim() > 0)


def _indexed(copies: Copies, uploads: list[tuple[Any, int]], spent: int) -> None:
    for source, size in uploads:
        copies.up(source, size, "index", spent // len(uploads))


def _of_host(index: Any) -> Iterator[tuple[Any, int]]:
    """The parts of an index that are copied to the device, with their size there."""
    for part in index if type(index) is tuple else (index,):
        kind = type(part)
        if kind in _PLAIN:
            continue
        if isinstance(part, TENSOR):
            if not part.is_cuda and part.dim() > 0:
                yield part, size_of(part)
        elif kind is list or kind is range:
            numbers = list(_leaves(part))
            yield part, len(numbers) * (1 if numbers and isinstance(numbers[0], bool) else 8)
        elif hasattr(part, "__array_interface__") and part.ndim > 0:
            yield part, int(part.nbytes)


def _leaves(value: Any) -> Iterator[Any]:
    for member in value:
        if isinstance(member, (list, tuple)):
            yield from _leaves(member)
        else:
            yield member
