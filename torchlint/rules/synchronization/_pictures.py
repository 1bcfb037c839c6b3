"""Calls that draw, show or save pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.knowledge.pictures import DRAWING, WRITING_METHODS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 6


def draws(module: SourceModule, call: cst.Call) -> bool:
    """Whether a call draws its arguments: a function of such a library, or a method of what such a function made."""
    return method(call) in WRITING_METHODS or _is_made_for_drawing(module, call.func, _DEPTH)


def _is_made_for_drawing(module: SourceModule, node: cst.CSTNode, depth: int) -> bool:
    """Whether an expression belongs to a library for pictures, or certainly comes from one: ``axes[0].imshow``."""
    name = module.qualified(node)
    if name is not None or depth == 0:
        return name is not None and name.startswith(DRAWING)
    origins = list(_origins(module, node))
    return bool(origins) and all(_is_made_for_drawing(module, origin, depth - 1) for origin in origins)


def _origins(module: SourceModule, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The expressions that make an object, or that it is a part of."""
    if isinstance(node, cst.Call):
        yield node.func
    elif isinstance(node, cst.Name):
        for binding in module.definitions(node):
            yield binding.value if binding.value is not None else binding.node
    elif isinstance(node, cst.Attribute):
        owner = module.class_of(node)
        itself = isinstance(node.value, cst.Name) and node.value.value == "self"
        stored = module.classes.assignments(owner, node.attr.value) if itself and owner is not None else []
        yield from (value for value, _ in stored)
        if not itself:
            yield node.value
    elif isinstance(node, cst.Subscript):
        yield node.value
