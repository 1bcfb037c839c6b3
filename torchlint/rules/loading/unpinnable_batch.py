"""TL407: a loader pins memory, but its batches are objects that cannot be pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loading.loader import Loader


class UnpinnableBatch(Rule):
    id = "TL407"
    name = "unpinnable-batch"
    summary = "A data loader with `pin_memory=True` returns batches that it cannot pin"
    severity = Severity.WARNING
    group = "preview"
    needs = (identifiers("pin_memory"), identifiers("collate_fn"))
    layout = False
    recipe = Recipe("pageable-batches", "finding", "batches are copied to the device from pageable memory")

    @on.loader
    def pins(self, loader: Loader) -> None:
        """Check a loader that pins memory."""
        known = self.module.followed.loader(loader.call)
        if loader.name != LOADER or known is None or known.pins is not True or not known.batch:
            return
        of_class = known.batch != "array"
        what = f"`{known.batch}`, which has no `pin_memory()` method" if of_class else "NumPy arrays"
        self.report(
            loader.call,
            f"`pin_memory=True` has no effect: the `collate_fn` of this loader returns {what}, so its batches stay in "
            f"pageable memory; {'define one' if of_class else 'return tensors'}, or drop `pin_memory`",
        )
