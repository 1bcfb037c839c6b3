"""Sources of values: the expressions from which a variable may get its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from torchlint.analysis.values.evaluate import Evaluator


def sources(values: Evaluator, node: cst.BaseExpression, depth: int = 8) -> list[cst.BaseExpression]:
    """The expressions that an expression may get its value from, through variables and conditional expressions.

    Empty if a source is not visible. In a file with a main guard all callers of a function are taken to be visible,
    since other files rarely import it.
    """
    if depth == 0:
        return []
    if isinstance(node, cst.IfExp):
        return _all(values, [node.body, node.orelse], depth)
    if not isinstance(node, cst.Name):
        return [node]
    found: list[cst.BaseExpression] = []
    for binding in values.code.definitions(node):
        if binding.kind == "assign" and not binding.path and binding.value is not None:
            found.append(binding.value)
        elif (
            binding.kind == "parameter"
            and "__main__" in values.code.text
            and (given := values.parameters.all_arguments(binding))
        ):
            found += given
        else:
            return []
    return _all(values, found, depth)


def _all(values: Evaluator, nodes: list[cst.BaseExpression], depth: int) -> list[cst.BaseExpression]:
    parts = [sources(values, node, depth - 1) for node in nodes]
    return [source for part in parts for source in part] if all(parts) else []
