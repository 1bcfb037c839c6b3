"""The loops and functions in which a file trains or evaluates, for the report to say what was recognized."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.step import STEP_METHODS, Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchlint.analysis.module import SourceModule


def recognized(module: SourceModule) -> list[tuple[int, int, str]]:
    """The first and last lines of what repeats steps, with what they do, in source order.

    Of nested loops only the outermost counts. A loop whose body is in other files is over ``batches``, whatever these
    do with them; a framework calls the methods of a module for each batch.
    """
    return sorted(set(_recognized(module)))


def _recognized(module: SourceModule) -> Iterator[tuple[int, int, str]]:
    sources = dict.fromkeys(module.shared(Steps).sources)
    for source in sources:
        if not any(outer in sources for outer in module.ancestors(source)):
            yield module.line(source), module.span(source).end_line, _kind(module, source)


def _kind(module: SourceModule, source: cst.CSTNode) -> str:
    if isinstance(source, cst.FunctionDef):
        return STEP_METHODS.get(source.name.value, "training")
    phase = module.followed.often(getattr(source, "body", source)).phase
    if phase == "training" or module.heat_analysis.trains(source):
        return "training"
    return "evaluation" if phase == "inference" else "batches"
