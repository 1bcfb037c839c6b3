"""Whether a program changes the dataset of a loader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.walk import descendants

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


def changes(module: SourceModule, call: cst.Call, dataset: cst.BaseExpression | None) -> bool:
    """Whether the function around a loader, or the file for one in an attribute, changes or calls its dataset."""
    parts = [part for part in variables(dataset) if not module.qualified(part)] if dataset is not None else []
    around = module.function_of(call)
    named = (node for part in parts for node in _alike(module, part, around))
    return any(_is_changed(module, node) for node in (*named, *module.attributes_named("dataset", around)))


def variables(value: cst.BaseExpression) -> Iterator[cst.Name | cst.Attribute]:
    """The variables and attributes that an expression consists of."""
    inner = {part.value for part in (value, *descendants(value)) if isinstance(part, cst.Attribute)}
    for part in (value, *descendants(value)):
        if isinstance(part, (cst.Name, cst.Attribute)) and part not in inner:
            yield part


def _alike(module: SourceModule, part: cst.Name | cst.Attribute, around: cst.FunctionDef | None) -> list[cst.CSTNode]:
    """The expressions that are written in the same way."""
    if isinstance(part, cst.Name):
        return list(module.names_spelled(part.value, around))
    return [node for node in module.attributes_named(part.attr.value) if dotted(node) == dotted(part)]


def _is_changed(module: SourceModule, node: cst.CSTNode) -> bool:
    member = module.parent(node)
    if not isinstance(member, cst.Attribute) or member.value is not node:
        return False
    use = module.parent(member)
    return isinstance(use, (cst.AssignTarget, cst.AugAssign)) or (isinstance(use, cst.Call) and use.func is member)


def is_used_elsewhere(call: cst.Call, loop: cst.CSTNode) -> bool:
    """Whether a loop uses the variables in the arguments of a call for something else, or an argument is a call."""
    parts = [part for arg in call.args for part in (arg.value, *descendants(arg.value))]
    if any(isinstance(part, cst.Call) for part in parts):
        return True
    used = {dotted(part) for arg in call.args for part in variables(arg.value)}
    others = (node for node in descendants(loop) if isinstance(node, (cst.Name, cst.Attribute)) and node not in parts)
    return any(dotted(node) in used for node in others)
