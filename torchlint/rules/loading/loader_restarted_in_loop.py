"""TL405: a data loader is started again for every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.loading.loader import Loader
    from torchlint.rules.loading._restarts import Restart, Restarts


class LoaderRestartedInLoop(Rule):
    id = "TL405"
    name = "loader-restarted-in-loop"
    summary = "A data loader is started again for every batch"
    severity = Severity.WARNING
    group = "preview"
    programs = ("training",)
    needs = (concepts.LOADERS, concepts.TORCH)
    layout = False
    recipe = Recipe(
        "function-calls",
        "finding",
        "the loader makes a new iterator in every step",
        least=0.5,
        each="step",
        functions=(f"{LOADER}.__iter__",),
    )

    @on.within("iter", "__iter__")
    def visit_Call(self, node: cst.Call) -> None:
        """Check ``iter(loader)``."""
        from torchlint.analysis.syntax.calls import method

        if getattr(node.func, "value", None) != "iter" and method(node) != "__iter__":
            return
        from torchlint.rules.loading._restarts import Restarts

        found = self.module.shared(Restarts).at_call(node)
        if found is not None:
            code = self.module.code(found.node)
            self._report(found, f"`{code}` makes a new iterator in every step")

    @on.loader
    def loads(self, loader: Loader) -> None:
        """Check a loader, and the loops that take one batch from it."""
        from torchlint.rules.loading._restarts import Restarts

        restarts = self.module.shared(Restarts)
        for found in restarts.loops_over(loader):
            code = self.module.code(found.place)
            self._report(found, f"this loop over `{code}` takes one batch of a new iterator in every step")
        self._check_constructor(loader, restarts)

    def _check_constructor(self, loader: Loader, restarts: Restarts) -> None:
        heat = restarts.made_again(loader)
        if heat is None or not loader.has_workers or self.module.in_test(loader.call) or restarts.changed_in(loader):
            return
        if heat is not Heat.EPOCH:
            text = "the same data loader is constructed in every step, and its worker processes are started each time"
        elif loader.persists:
            text = (
                "the same data loader is constructed in every epoch, so its workers do not persist despite "
                "`persistent_workers=True`"
            )
        else:
            return  # without persistent workers, a loader starts them in every epoch anyway
        self.report(loader.call, f"{text}: construct it once, before the loop", heat=heat)

    def _report(self, found: Restart, what: str) -> None:
        loader = found.loader
        if loader is not None and not loader.has_workers and not loader.opaque and not loader.shuffles:
            return
        certain = loader is not None and loader.has_workers
        made = [self.module.evidence(loader.call, "the loader is constructed here")] if loader is not None else []
        self.report(
            found.node,
            f"{what}: {self._cost(loader)}; make one iterator before the loop, and another on `StopIteration`",
            evidence=made,
            severity=Severity.WARNING if certain else Severity.INFO,
            heat=Heat.STEP,
        )

    def _cost(self, loader: Loader | None) -> str:
        if loader is None or (loader.opaque and not loader.has_workers):
            return "worker processes, if it has any, are started again for each batch"
        if not loader.has_workers:
            return "each draws a permutation of the whole dataset for one batch"
        if loader.persists:
            return "the workers load several batches each time, and all but one are thrown away"
        return "all worker processes are started again for each batch"
