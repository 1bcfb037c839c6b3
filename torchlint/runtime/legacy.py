"""``torch.cuda.FloatTensor`` and its like: types that create tensors on the device, from sizes or from data."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchlint.runtime.copies import Copies, where
from torchlint.runtime.labels import size_of
from torchlint.runtime.patches import Patches

_NAMES = "Float Double Half BFloat16 Long Int Short Byte Char Bool".split()


class _Recording(type):
    """A type whose calls are recorded; everything else is that of the original type."""

    real: Any
    copies: Copies

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A tensor."""
        if cls.copies.inside:
            return cls.real(*args, **kwargs)
        made, spent = cls.copies.timed(cls.real, args, kwargs)
        note_data(cls.copies, args, made, "legacy", spent)
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)

    def __repr__(cls) -> str:
        return repr(cls.real)


def install(copies: Copies, patches: Patches) -> None:
    """Replace the types of CUDA, and let what takes a type take these."""
    for name in [f"{name}Tensor" for name in _NAMES]:
        real = getattr(torch.cuda, name)
        facts = {"__module__": "torch.cuda", "real": real, "copies": copies}
        patches.set(torch.cuda, name, _Recording(name, (), facts))
    patches.set(torch, "set_default_tensor_type", _taking(torch.set_default_tensor_type))


def _taking(real: Any) -> Any:
    @functools.wraps(real)
    def set_default_tensor_type(t: Any) -> Any:
        return real(original(t))

    return set_default_tensor_type


def original(kind: Any) -> Any:
    """Torch's own type for one of these; everything else as it is."""
    return kind.real if isinstance(kind, _Recording) else kind


def note_data(copies: Copies, args: Any, made: Any, how: str, spent: int) -> None:
    """Record that a tensor on the device was created from data of the host, which ``new`` methods take like sizes."""
    data = args[0] if args else None
    sizes = isinstance(data, (int, torch.Size)) or data is None
    there = where(made) is not None
    uploaded = there and not sizes and not (isinstance(data, torch.Tensor) and where(data) is not None)
    if uploaded:
        copies.up(data, size_of(made), how, spent)
    elif there:
        copies.made(size_of(made), spent)
    copies.settle(int(uploaded))
