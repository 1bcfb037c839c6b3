"""Classes of a program that resemble torch's: subclasses with methods of their own, and objects that only look alike.

A class is text, since programs define it themselves, or get an instance from another file, where nothing tells the
linter what it is.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import torch
from hypothesis import strategies as st

from tests.behavior.inputs import made

NAME = "Own"
_SUBCLASS = f"""class {NAME}(torch.Tensor):
    def __new__(cls, value):
        return value.as_subclass(cls) if isinstance(value, torch.Tensor) else value
"""
_OBJECT = f"""class {NAME}:
    def __init__(self, value):
        self.memory = value

    def __getattr__(self, name):
        return getattr(vars(self)["memory"], name)

    def __len__(self):
        return len(self.memory)

    def __iter__(self):
        return iter(self.memory)

    def __getitem__(self, index):
        return {NAME}(self.memory[index])

    def __mul__(self, other):
        return {NAME}(self.memory * other)
"""
_BATCH = f"""import dataclasses


@dataclasses.dataclass
class {NAME}:
    memory: torch.Tensor

    def __getattr__(self, name):
        return getattr(vars(self)["memory"], name)

    def __getitem__(self, index):
        return {NAME}(self.memory[index])
"""
_MOVES = (
    "def to(self, device):\n        return self[:1]",
    "def to(self, device, non_blocking):\n        return [str(device), non_blocking]",
    "def to(self, *args, **kwargs):\n        return [len(args), sorted(kwargs)]",
    "def cuda(self):\n        return self[:1]",
    "def cuda(self, device=None, non_blocking=None):\n        return [device, non_blocking]",
    "def cpu(self):\n        raise ValueError('kept')",
    "def pin_memory(self):\n        return self[:1]",
)
_METHODS = (
    *_MOVES,
    "def item(self):\n        return 'own'",
    "def tolist(self):\n        return ['own']",
    "def detach(self):\n        raise TypeError('kept')",
    "def backward(self):\n        self.seen = True",
    "def float(self):\n        return self[:1]",
    "def clone(self):\n        return self",
    "def flatten(self):\n        return self[:1]",
)
# Subclasses whose operations give plain tensors, and that replace one function of torch.
_FUNCTIONS = (
    "__torch_function__ = torch._C._disabled_torch_function_impl",
    (
        "@classmethod\n    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        "        made = super().__torch_function__(function, types, args, kwargs or {{}})\n"
        "        return made[:1] if function.__name__ == '{}' and isinstance(made, torch.Tensor) else made"
    ),
)


@st.composite
def classes(draw: st.DrawFn) -> str:
    """A class that wraps a tensor, with one or two methods of its own."""
    base = draw(st.sampled_from((_SUBCLASS, _SUBCLASS, _OBJECT, _BATCH)))
    methods = draw(st.lists(st.sampled_from(_METHODS), min_size=1, max_size=2, unique=True))
    if base == _SUBCLASS and draw(st.integers(0, 3)) == 0:
        replaced = draw(st.sampled_from(("to", "cuda", "clone", "flatten", "detach")))
        methods = [draw(st.sampled_from(_FUNCTIONS)).format(replaced)]
    return _with(base, methods)


def _with(base: str, methods: list[str]) -> str:
    return base + "".join(f"\n    {method}\n" for method in methods)


class Elsewhere(NamedTuple):
    """An input whose class another file defines, by this text; only tensors become instances of it."""

    value: str
    text: str

    def new(self) -> Any:
        """A new object."""
        value = made(self.value)
        if not isinstance(value, torch.Tensor):
            return value
        namespace: dict[str, Any] = {"torch": torch, "__name__": __name__}
        exec(_compiled(self.text), namespace)
        return namespace[NAME](value)


@lru_cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<elsewhere>", "exec")
