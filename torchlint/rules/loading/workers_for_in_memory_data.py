"""TL403: worker processes load data that is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.project.followed import SELDOM
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
        known = self.module.followed.loader(loader.call)
        if loader.name != LOADER or loader.derived or known is None or not known.in_memory or not known.workers:
            return
        if known.rate == SELDOM or self.module.in_test(loader.call):
            return
        what = "a worker process collects" if known.workers == 1 else f"{known.workers} worker processes collect"
        self.report(
            loader.call,
            f"{what} batches row by row from tensors in memory: index the tensors with all rows of a batch at once, "
            "as in `for rows in torch.randperm(len(x)).split(256)`",
        )
