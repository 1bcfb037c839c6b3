"""TL404: the workers of a loader are started again in every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.loading.loader import Loader


class WorkersNotPersistent(Rule):
    id = "TL404"
    name = "workers-not-persistent"
    summary = "The workers of a data loader are started again in every epoch"
    severity = Severity.INFO
    programs = ("training",)
    fix = "sometimes"
    needs = (concepts.STEPS, identifiers("num_workers", "DataLoader"))
    layout = False
    recipe = Recipe(
        "worker-starts",
        "evidence",
        "iterators with workers are constructed more than once",
        least=2,
        functions=("torch.utils.data.dataloader._MultiProcessingDataLoaderIter",),
    )

    @on.loader
    def restarts(self, loader: Loader) -> None:
        """Check a loader with workers that does not keep them."""
        if loader.name != LOADER or loader.derived or loader.opaque or not loader.has_workers:
            return
        if loader.arguments("persistent_workers") or self.module.in_test(loader.call):
            return
        from torchlint.rules.loading._epochs import Epochs
        from torchlint.rules.loading._in_memory import InMemory

        epochs = self.module.shared(Epochs)
        workers = epochs.workers(loader)
        reads = epochs.reads_of(loader) if workers else []
        if not reads or epochs.changes(loader) or self.module.shared(InMemory).feeds(loader):
            return  # TL403 has better advice for data in memory
        from torchlint.rules.loading._fixes import persistent_workers

        value = self._value(loader)
        count = "worker process of this loader is" if workers == 1 else f"{workers} worker processes of this loader are"
        self.report(
            loader.call,
            f"the {count} started again in every epoch: pass `persistent_workers={value}`, "
            "unless the dataset changes between epochs",
            evidence=[self.module.evidence(read, "workers are started here, in every epoch") for read in reads],
            fix=persistent_workers(self.module, loader, value),
        )

    def _value(self, loader: Loader) -> str:
        given: cst.BaseExpression = loader.arguments("num_workers")[0]
        literal = self.module.value(given).known
        return "True" if literal else f"{self.module.code(given)} > 0"
