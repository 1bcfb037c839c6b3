"""What a loop iterates over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.values.sources import sources
from torchlint.knowledge.tensors import TRANSPARENT_ITERATORS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


def iterated(module: SourceModule, iterable: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values of an iterable on all paths, through ``enumerate`` and ``tqdm``; empty if they are not known."""
    found = sources(module.evaluator, iterable)
    inner = [call for call in found if isinstance(call, cst.Call) and _is_transparent(module, call)]
    if not inner:
        return found
    return iterated(module, inner[0].args[0].value) if len(found) == 1 else []


def _is_transparent(module: SourceModule, call: cst.Call) -> bool:
    name = module.qualified(call.func)
    known = name == "builtins.enumerate" or name in TRANSPARENT_ITERATORS
    return known and bool(call.args) and call.args[0].keyword is None and not call.args[0].star
