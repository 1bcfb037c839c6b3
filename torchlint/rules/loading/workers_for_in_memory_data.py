"""TL403: worker processes load data that is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loading.loader import Loader


class WorkersForInMemoryData(Rule):
    id = "TL403"
    name = "workers-for-in-memory-data"
    summary = "Worker processes load data that is already in memory"
    severity = Severity.INFO
    group = "preview"
    needs = (identifiers("DataLoader"),)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "it takes a comparison of two runs, with and without workers",
    )

    @on.loader
    def feeds(self, loader: Loader) -> None:
        """Check a loader with workers."""
        if loader.name != LOADER or loader.opaque or not loader.has_workers:
            return
        from torchlint.rules.loading._epochs import Epochs
        from torchlint.rules.loading._in_memory import InMemory

        workers = self.module.shared(Epochs).workers(loader)
        if not workers or self.module.in_test(loader.call) or not self.module.shared(InMemory).feeds(loader):
            return
        what = "a worker process collects" if workers == 1 else f"{workers} worker processes collect"
        self.report(
            loader.call,
            f"{what} batches row by row from tensors in memory: index the tensors with all rows of a batch at once, "
            "as in `for rows in torch.randperm(len(x)).split(256)`",
        )
