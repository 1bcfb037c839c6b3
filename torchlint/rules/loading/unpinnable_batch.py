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
        if loader.name != LOADER or loader.pins is not True or not loader.arguments("collate_fn"):
            return
        from torchlint.rules.loading._unpinnable import Unpinnable

        found = self.module.shared(Unpinnable).batch_of(loader)
        if found is None:
            return
        what = f"`{found.owner}`, which has no `pin_memory()` method" if found.owner else "NumPy arrays"
        advice = "define one" if found.owner else "return tensors"
        self.report(
            loader.call,
            f"`pin_memory=True` has no effect: the `collate_fn` of this loader returns {what}, so its batches stay in "
            f"pageable memory; {advice}, or drop `pin_memory`",
            evidence=[self.module.evidence(found.result, "this is the batch")],
        )
