"""The loaders that a loop iterates over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.loading.loader import DataLoaders, Loader
from torchlint.analysis.values.sources import sources
from torchlint.knowledge.tensors import TRANSPARENT_ITERATORS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


def iterated(module: SourceModule, iterable: cst.BaseExpression | None) -> list[Loader | None]:
    """The loaders that an iterable is, on all paths and through ``enumerate`` and ``tqdm``; empty if nothing is known.

    What is no loader is None.
    """
    found = sources(module.evaluator, iterable) if iterable is not None else []
    inner = [call for call in found if isinstance(call, cst.Call) and _is_transparent(module, call)]
    if inner:
        return iterated(module, inner[0].args[0].value) if len(found) == 1 else []
    loaders = module.shared(DataLoaders)
    return [loaders.at(call) if isinstance(call, cst.Call) else None for call in found]


def _is_transparent(module: SourceModule, call: cst.Call) -> bool:
    name = module.qualified(call.func)
    known = name == "builtins.enumerate" or name in TRANSPARENT_ITERATORS
    return known and bool(call.args) and call.args[0].keyword is None and not call.args[0].star
