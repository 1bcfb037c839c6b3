"""Runs a small program and writes down everything about its outcome that a fix must keep.

A program defines ``run(**inputs)``, which returns a result, or a result and the arrays and tensors it was made
from. Of tensors the bits, dtype, shape, strides, device, gradient flags and gradients count; so do exceptions, the
state of the random generators afterwards, and who sees what is written to whom.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

Outcome = dict[str, Any]


def outcome(program: str, inputs: Mapping[str, Callable[[], Any]], patches: Callable[[], Any] | None = None) -> Outcome:
    """What running a program gives. ``inputs`` makes new objects for every run."""
    namespace: dict[str, Any] = {}
    _seed()
    seen: Outcome = {}
    with warnings.catch_warnings(record=True) as caught, _Patched(patches):
        warnings.simplefilter("always")
        try:
            exec(compile(program, "<program>", "exec"), namespace)
            returned = namespace["run"](**{name: make() for name, make in inputs.items()})
        except Exception as error:
            return {"exception": type(error).__name__}
    said = {str(w.message).partition(" (Triggered")[0] for w in caught}
    seen["warnings"] = sorted(text for text in said if "is extremely slow" not in text)  # which fixes are to end
    result, sources = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, [])
    seen["result"] = described(result)
    seen["torch generator"] = torch.get_rng_state().numpy().tobytes()
    seen["numpy generator"] = str(np.random.get_state())
    seen["python generator"] = random.getstate()
    seen["gradients"] = _gradients(result)
    seen["result after the sources were written to"] = _written(sources, result)
    seen["sources after the result was written to"] = _written(_members(result), sources)
    return seen


def differences(before: Outcome, after: Outcome) -> list[str]:
    """What differs between two outcomes, by name."""
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))


def described(value: Any) -> Any:
    """A value as plain data, bit for bit."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.shape, value.strides, value.tobytes())
    if isinstance(value, dict):
        return {key: described(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [described(member) for member in value])
    if isinstance(value, float):
        return ("float", value.hex())
    return (type(value).__name__, repr(value))


def _tensor(value: torch.Tensor) -> Any:
    strides = value.stride() if value.numel() else ()  # of no elements they say nothing, and come as it happens
    facts = (str(value.dtype), tuple(value.shape), strides, str(value.device), value.requires_grad, value.is_leaf)
    if value.device.type == "meta":
        return ("tensor", facts)
    content = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    return ("tensor", facts, content)


def _gradients(result: Any) -> Any:
    tensors = [
        m for m in _members(result) if isinstance(m, torch.Tensor) and m.requires_grad and m.device.type == "cpu"
    ]
    for tensor in tensors:
        tensor.sum().backward(retain_graph=True)
    return [described(tensor.grad) if tensor.is_leaf else "no leaf" for tensor in tensors]


def _written(written: Any, watched: Any) -> Any:
    """Fill some objects with another value, and look at others."""
    for member in _members(written):
        if isinstance(member, torch.Tensor) and member.device.type == "cpu":
            with torch.no_grad():
                member.fill_(1)
        elif isinstance(member, np.ndarray) and member.flags.writeable:
            member.fill(0)
    return described(watched)


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for member in value.values() for part in _members(member)]
    if isinstance(value, (list, tuple)):
        return [part for member in value for part in _members(member)]
    return [value]


def _seed() -> None:
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    torch.set_warn_always(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)


class _Patched:
    """Replacements that last for one run."""

    def __init__(self, patches: Callable[[], Any] | None) -> None:
        self._context = patches() if patches is not None else None

    def __enter__(self) -> None:
        if self._context is not None:
            self._context.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._context is not None:
            self._context.__exit__(*error)
