"""Runs a small program and records everything about the result that a fix must preserve.

A program defines ``run(**inputs)``, which returns a result, or a result and the arrays and tensors it was made from;
it may keep further objects in a list ``KEPT``. For tensors, the record contains bits, class, dtype, shape, strides,
device, gradient flags and gradients; it also contains exceptions, the state of the random generators, and which
objects share memory.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

Outcome = dict[str, Any]
# Warnings that fixes remove, intentionally or as the pages of their rules say.
_ENDED = (
    "is extremely slow",
    "Converting a tensor with requires_grad=True to a scalar",
    "To copy construct from a tensor",
)
Context = Callable[[], AbstractContextManager[Any]]


def outcome(
    program: str,
    inputs: Mapping[str, Callable[[], Any]],
    patches: Context | None = None,
    around: Context | None = None,
) -> Outcome:
    """The outcome of running a program. ``inputs`` creates new objects for every run.

    ``patches`` are active until the outcome has been recorded, ``around`` only while the program runs.
    """
    _seed()
    with warnings.catch_warnings(record=True) as caught, (patches or nullcontext)():
        warnings.simplefilter("always")
        given = {name: make() for name, make in inputs.items()}
        try:
            with (around or nullcontext)():
                returned = _returned(program, given)
        except Exception as error:
            return {"exception": type(error).__name__, **_generators()}
        said = {str(w.message).partition(" (Triggered")[0] for w in caught}
        return {
            "warnings": sorted(text for text in said if not any(word in text for word in _ENDED)),
            **_seen(*returned),
        }


def _returned(program: str, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(program, "<program>", "exec"), namespace)
    returned = namespace["run"](**inputs)
    result, sources = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, [])
    return result, [sources, namespace.get("KEPT", [])]


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_READING = ("detach", "cpu", "contiguous", "resolve_conj", "resolve_neg")


def _seen(result: Any, sources: Any) -> Outcome:
    seen = {"result": described(result), **_generators()}
    seen["gradients"] = _gradients(result, sources)
    seen["result after the sources were written to"] = _written(sources, result)
    seen["sources after the result was written to"] = _written(_members(result), sources)
    return seen


def _generators() -> Outcome:
    return {
        "torch generator": torch.get_rng_state().numpy().tobytes(),
        "numpy generator": described(list(np.random.get_state())),
        "python generator": random.getstate(),
    }


def differences(before: Outcome, after: Outcome) -> list[str]:
    """The names of the differences between two outcomes."""
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))


def described(value: Any) -> Any:
    """A value as plain data, bit for bit."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, np.ndarray):
        return (type(value).__name__, str(value.dtype), value.shape, value.strides, value.tobytes())
    if isinstance(value, dict):
        return {key: described(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [described(member) for member in value])
    if isinstance(value, (float, complex)):
        return (type(value).__name__, np.array(value).tobytes())
    if hasattr(value, "memory"):
        return described(value.memory)
    return (type(value).__name__, _ADDRESS.sub("", repr(value)))


def _tensor(value: torch.Tensor) -> Any:
    strides = value.stride() if value.numel() else ()  # without elements, these are arbitrary
    kind = (type(value).__name__, str(value.dtype), str(value.device))
    facts = (*kind, tuple(value.shape), strides, value.requires_grad, value.is_leaf, value.is_inference())
    if value.is_meta:
        return ("tensor", facts)
    plain = value
    for method in _READING:  # those of torch, since a subclass may have others
        plain = getattr(torch.Tensor, method)(plain)
    if not value.numel():
        return ("tensor", facts, b"")
    flat = torch.Tensor.clone(torch.Tensor.reshape(plain, -1), memory_format=torch.contiguous_format)
    return ("tensor", facts, torch.Tensor.numpy(torch.Tensor.view(flat, torch.uint8)).tobytes())


def _gradients(result: Any, sources: Any) -> Any:
    """The gradients of the inputs of the result, and of the result itself if it is a leaf."""
    tensors = [m for m in _members(result) if _has_gradient(m)]
    raised = [_sent_back(tensor) for tensor in tensors]
    leaves = [m for m in (*tensors, *_members(sources)) if isinstance(m, torch.Tensor) and m.is_leaf]
    return raised, [described(leaf.grad) for leaf in leaves]


def _sent_back(tensor: torch.Tensor) -> str | None:
    """Compute gradients of a tensor; the exception if that is not possible, as for inference tensors."""
    try:
        torch.Tensor.backward(torch.abs(torch.sum(tensor)), retain_graph=True)
    except RuntimeError as error:
        return type(error).__name__
    return None


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and not value.is_meta


def _written(written: Any, watched: Any) -> Any:
    """Overwrite some objects, and record which others change."""
    done = [_overwritten(member) for member in _members(written)]
    return done, described(watched)


def _overwritten(member: Any) -> str | None:
    """Overwrite an object of any kind; the exception if that is not possible."""
    try:
        if isinstance(member, torch.Tensor) and not member.is_meta:
            with torch.no_grad():
                member.copy_(member == 0)
        elif isinstance(member, np.ndarray) and member.dtype.kind in "biufc":
            member[...] = member == 0
    except (RuntimeError, ValueError) as error:
        return type(error).__name__  # overlapping elements, inference tensors, read-only memory
    return None


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for member in value.values() for part in _members(member)]
    if isinstance(value, (list, tuple)):
        return [part for member in value for part in _members(member)]
    memory = getattr(value, "memory", None)  # of an object that exposes it as an array
    return [value] if memory is None else [memory]


def _seed() -> None:
    torch.default_generator.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    torch.set_warn_always(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
