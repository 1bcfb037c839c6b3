"""TL405: a data loader is started again for every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import RESTARTED
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Evidence, Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.syntax.followed import Seen
    from torchlint.analysis.things.loading.loader import Loader

_COST = {
    "workers": "all worker processes are started again for each batch",
    "persistent": "the workers load several batches each time, and all but one are thrown away",
    "shuffle": "each draws a permutation of the whole dataset for one batch",
    "unknown": "worker processes, if it has any, are started again for each batch",
}


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

    @on.form(RESTARTED)
    def starts(self, seen: Seen) -> None:
        """Check an iterator that every step makes of a loader."""
        if self.module.in_test(seen.node):
            return
        taking = self._taking(seen.node)
        node = taking or seen.node
        what = f"`{self.module.code(node)}` makes a new iterator in every step"
        if taking is None:
            what = f"this loop over `{self.module.code(node)}` takes one batch of a new iterator in every step"
        path, line = seen.event.other
        self.report(
            node,
            f"{what}: {_COST[seen.event.origin]}; make one iterator before the loop, and another on `StopIteration`",
            evidence=[Evidence(line, 1, "the loader is constructed here")] if line and not path else [],
            severity=Severity.WARNING if seen.event.origin in ("workers", "persistent") else Severity.INFO,
            heat=Heat.STEP,
        )

    def _taking(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The call of ``next`` or ``__next__`` around an iterator, or the iterator itself; None for that of a loop."""
        import libcst as cst

        around = self.module.parent(node)
        call = self.module.parent(around) if isinstance(around, (cst.Attribute, cst.Arg)) else None
        return call if isinstance(call, cst.Call) else node if not isinstance(around, cst.For) else None

    @on.loader
    def makes(self, loader: Loader) -> None:
        """Check a loader with workers that is constructed again and again, with the same arguments."""
        known = self.module.followed.loader(loader.call)
        if known is None or known.rate not in ("step", "epoch") or known.workers == 0:
            return
        if known.workers is None and loader.argument("num_workers") is None:
            return
        if known.rate == "epoch" and not known.persists:
            return  # without persistent workers, a loader starts them in every epoch anyway
        if self.module.in_test(loader.call) or not self._stays(loader):
            return
        if known.rate == "step":
            text = "the same data loader is constructed in every step, and its worker processes are started each time"
        else:
            text = (
                "the same data loader is constructed in every epoch, so its workers do not persist despite "
                "`persistent_workers=True`"
            )
        heat = Heat.STEP if known.rate == "step" else Heat.EPOCH
        self.report(loader.call, f"{text}: construct it once, before the loop", heat=heat)

    def _stays(self, loader: Loader) -> bool:
        """Whether the loop around a loader uses what it is made of for nothing else."""
        from torchlint.rules.loading._changes import is_used_elsewhere

        loops = self.module.heat_analysis.enclosing_loops(loader.call)[0]
        return bool(loops) and not is_used_elsewhere(loader.call, loops[0])
