"""TL404: the workers of a loader are started again in every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.project.followed import SELDOM
from torchlint.rule import Rule

if TYPE_CHECKING:
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
        known = self.module.followed.loader(loader.call)
        if loader.name != LOADER or loader.derived or known is None or not known.workers or known.persists is not False:
            return
        starts = [(path, line) for path, line, rate in known.starts if rate == "epoch"]
        if not starts or known.rate == SELDOM or known.in_memory or self.module.in_test(loader.call):
            return  # TL403 has better advice for data in memory
        from torchlint.rules.loading._changes import changes
        from torchlint.rules.loading._fixes import persistent_workers

        if changes(self.module, loader.call, loader.argument("dataset")):
            return
        value, number = self._value(loader), known.workers
        count = "worker process of this loader is" if number == 1 else f"{number} worker processes of this loader are"
        own = self.module.path.replace("\\", "/")
        begun = "workers are started here, in every epoch"
        self.report(
            loader.call,
            f"the {count} started again in every epoch: pass `persistent_workers={value}`, "
            "unless the dataset changes between epochs",
            evidence=[Evidence(line, 1, begun) for path, line in starts if path == own],
            fix=persistent_workers(self.module, loader, value),
        )

    def _value(self, loader: Loader) -> str:
        given = loader.argument("num_workers")
        return "True" if given is None or self.module.value(given).known else f"{self.module.code(given)} > 0"
