"""Callables: the functions that arguments such as ``collate_fn`` stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import positional
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


def called_function(module: SourceModule, node: cst.BaseExpression | None) -> cst.FunctionDef | cst.Lambda | None:
    """The function of the file that runs when an argument is called: for an instance of a class, its ``__call__``."""
    if isinstance(node, cst.Lambda):
        return node
    if isinstance(node, cst.Call) and module.qualified(node.func) == "functools.partial":
        return called_function(module, positional(node, 0))
    value = module.value(node)
    if value.kind is Kind.FUNCTION and isinstance(value.node, cst.FunctionDef):
        return value.node
    if value.kind is not Kind.CLASS and isinstance(value.node, cst.ClassDef):
        return module.classes.method(value.node, "__call__")
    return None
