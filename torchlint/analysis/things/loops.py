"""The loops and functions in which a file trains or evaluates, for the report to say what was recognized."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.step import Steps
from torchlint.knowledge.heat import EVALUATION_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchlint.analysis.module import SourceModule

_STEP_METHODS = {"training_step": "training", **dict.fromkeys(EVALUATION_STEPS, "evaluation")}


def recognized(module: SourceModule) -> list[tuple[int, int, str]]:
    """The first and last lines of what repeats steps, with what they do, in source order.

    Of nested loops only the outermost counts. A loop whose body is in other files is over ``batches``, whatever these
    do with them; a framework calls the methods of a module for each batch.
    """
    return sorted(set(_recognized(module)))


def _recognized(module: SourceModule) -> Iterator[tuple[int, int, str]]:
    loops = dict.fromkeys(module.shared(Steps).loops(cst.For, cst.While))
    for loop in loops:
        if not any(outer in loops for outer in module.ancestors(loop)):
            yield *_lines(module, loop), _kind(module, loop)
    for function in module.nodes_of(cst.FunctionDef, frozenset(_STEP_METHODS)):
        kind = _STEP_METHODS.get(function.name.value)
        if kind is not None and module.class_of(function) is not None:
            yield *_lines(module, function), kind


def _lines(module: SourceModule, node: cst.CSTNode) -> tuple[int, int]:
    return module.line(node), module.span(node).end_line


def _kind(module: SourceModule, loop: cst.CSTNode) -> str:
    heat = module.heat_analysis
    if heat.trains(loop):
        return "training"
    return "evaluation" if heat.evaluates(loop) else "batches"
