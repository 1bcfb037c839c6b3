"""Classes and functions that a trainer runs in every step, judged by what they are: criteria, optimizers, clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import literal
from torchlint.knowledge.heat import CRITERION_SUFFIXES, OPTIMIZER_SUFFIXES
from torchlint.knowledge.tensors import TENSOR_USES
from torchlint.knowledge.transfers import TENSOR_METHODS

if TYPE_CHECKING:
    from torchlint.analysis.code import Code


def is_criterion(code: Code, function: cst.FunctionDef) -> bool:
    """Whether a function is the ``forward`` of a class that is, or whose base is, named like a loss."""
    owner = code.class_of(function)
    return function.name.value == "forward" and owner is not None and _named(owner, CRITERION_SUFFIXES)


def is_optimizer_step(code: Code, function: cst.FunctionDef) -> bool:
    """Whether a function is the ``step`` of an optimizer class."""
    owner = code.class_of(function)
    return function.name.value == "step" and owner is not None and _named(owner, OPTIMIZER_SUFFIXES)


def clips_gradients(function: cst.FunctionDef) -> bool:
    """Whether a function says that it clips gradients, as ``clip_grad_norm`` does."""
    words = function.name.value.lower().split("_")
    return "clip" in words and any(word.startswith("grad") for word in words)


def updates_parameters(code: Code, function: cst.FunctionDef) -> bool:
    """Whether a function belongs to the update after the backward pass; it trains though gradients are disabled."""
    return is_optimizer_step(code, function) or clips_gradients(function)


def runs_in_training(code: Code, function: cst.FunctionDef) -> bool:
    """Whether a trainer runs a function in every step, judged by what it is."""
    return is_criterion(code, function) or updates_parameters(code, function)


def _named(owner: cst.ClassDef, suffixes: tuple[str, ...]) -> bool:
    names = (owner.name.value, *(dotted(base.value) or "" for base in owner.bases if base.keyword is None))
    return any(name.endswith(suffixes) for name in names)


def is_given_tensors(code: Code, param: cst.Param) -> bool:
    """Whether a parameter gets a tensor, or a container of tensors, judging by its uses."""
    if param.annotation is not None or (param.default is not None and literal(param.default) is not None):
        return False
    binding = code.binding_of(param.name)
    return binding is not None and any(_is_used_as_tensor(code, use) for use in code.uses(binding))


def _is_used_as_tensor(code: Code, use: cst.Name) -> bool:
    """``x.shape``, ``x.eq(..)``, ``torch.exp(x)``; for a container ``sample["target"].eq(..)``."""
    node: cst.CSTNode = use
    parent = code.parent(node)
    if isinstance(parent, cst.Subscript) and parent.value is node:
        node, parent = parent, code.parent(parent)
    if isinstance(parent, cst.Attribute) and parent.value is node:
        return parent.attr.value in TENSOR_USES or parent.attr.value in TENSOR_METHODS
    call = code.parent(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and (code.qualified(call.func) or "").startswith("torch.")
