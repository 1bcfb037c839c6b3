"""Fixes of data loaders: pinned memory (TL401), workers that live on (TL404)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.analysis.syntax.calls import is_opaque
from torchlint.edit import pinning
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.model import Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.loading.loader import Loader

_KEPT = (
    "workers keep the state of their dataset and random numbers from one epoch to the next, and do not see what the "
    "main process changes in the dataset"
)


@or_none
def pin_memory(module: SourceModule, loader: Loader) -> Fix:
    """Let a loader pin its batches."""
    return Fix("pin the memory of batches", Safety.UNSAFE, pinning.edits(module, loader), pinning.CAVEAT)


@or_none
def persistent_workers(module: SourceModule, loader: Loader, value: str) -> Fix:
    """Add ``persistent_workers=value`` to a loader with workers."""
    if is_opaque(loader.call):
        raise Unfixable
    added = module.shared(Editor).add_argument(loader.call, f"persistent_workers={value}")
    return Fix(f"add `persistent_workers={value}`", Safety.UNSAFE, added, _KEPT)
