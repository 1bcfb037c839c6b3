"""TL401: batches are copied to the GPU from pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER, OTHER_DEVICES
from torchlint.model import Evidence, Heat, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.loading.batch_uses import BatchUses
    from torchlint.analysis.things.loading.loader import Loader


_ASYNCHRONOUS = ", and move batches with `non_blocking=True`"


class LoaderNotPinned(Rule):
    id = "TL401"
    name = "loader-not-pinned"
    summary = "A data loader feeds the GPU from pageable memory"
    severity = Severity.WARNING
    fix = "sometimes"
    layout = False
    recipe = Recipe("pageable-batches", "finding", "batches are copied to the device from pageable memory")

    @on.loader
    def feeds(self, loader: Loader) -> None:
        """Check a data loader; its batches are tracked only if it does not pin."""
        if loader.name != LOADER or loader.pins is not False or loader.unpinnable or self._has_other_device():
            return
        used = loader.batch_uses
        used = used._replace(
            moves=tuple(move for move in used.moves if self.module.heat_analysis.may_run_again(move.loop)),
        )
        if used.pinned or self.module.in_test(loader.call):
            return
        if not used.any:
            self._followed(loader)
            return

        from torchlint.rules.loading._fixes import pin_memory

        evaluation = self._only_evaluates(used)
        certain = not evaluation and loader.has_workers and self._certain(used) and not self._is_rare(used)
        self.report(
            loader.call,
            self._message(loader, used, evaluation=evaluation),
            evidence=self._evidence(used),
            severity=Severity.WARNING if certain else Severity.INFO,
            fix=pin_memory(self.module, loader),
        )

    def _followed(self, loader: Loader) -> None:
        """Check a loader of which only following the program shows where its batches are copied."""
        feed = self.module.followed.feed(loader.call)
        if feed is None:
            return

        from torchlint.rules.loading._fixes import pin_memory

        trains = feed.phase == "training"
        where = f"in {feed.path}, line {feed.line}"
        self.report(
            loader.call,
            self._describe(
                loader,
                f"by {feed.by}, {where}" if feed.by else where,
                evaluation=not trains,
                advice="" if feed.by else _ASYNCHRONOUS,
            ),
            severity=Severity.WARNING if trains and loader.has_workers else Severity.INFO,
            fix=pin_memory(self.module, loader),
        )

    def _has_other_device(self) -> bool:
        return any(name in self.module.text for name in OTHER_DEVICES)

    def _certain(self, used: BatchUses) -> bool:
        """Whether some batches are known to be moved to an accelerator, rather than by a framework that may use one."""
        return bool(used.moves) or any(move.certain for move in used.framework_moves)

    def _is_rare(self, used: BatchUses) -> bool:
        """Whether single batches are fetched, and not in every step: ``next(iter(loader))`` for some pictures."""
        fetched = all(
            move.loop.__class__.__name__ == "Call" and self.module.heat(move.loop).rank < Heat.STEP.rank
            for move in used.moves
        )
        return bool(used.moves) and fetched and not used.framework_moves

    def _only_evaluates(self, used: BatchUses) -> bool:
        """Whether every loop that moves batches of the loader evaluates."""
        here = all(self._evaluates(move.loop) for move in used.moves)
        return here and all(move.evaluation for move in used.framework_moves)

    def _evaluates(self, loop: cst.CSTNode) -> bool:
        """Whether a loop over batches does not train."""
        if self.module.heat_analysis.evaluates(loop):
            return True

        from torchlint.analysis.scopes.flow import LOOPS

        followed = self.module.followed.step(loop) if isinstance(loop, LOOPS) else None
        return followed is not None and followed.phase != "training"

    def _message(self, loader: Loader, used: BatchUses, *, evaluation: bool) -> str:
        return self._describe(loader, self._place(used), evaluation=evaluation, advice=self._asynchronous(used))

    def _describe(self, loader: Loader, place: str, *, evaluation: bool, advice: str) -> str:
        given = loader.arguments("pin_memory")
        option = next((name for name, off in map(loader.option, given) if off is False), None)
        state = "sets `pin_memory=False`" if given else "does not set `pin_memory`"
        state = f"sets `pin_memory` only with `{option}`" if option else state
        what = f"this data loader {state}, and its batches are moved to the GPU {place}"
        if not loader.has_workers:
            return (
                f"{what}; without workers the main process itself would pin, so set `num_workers` first, then "
                "`pin_memory=torch.cuda.is_available()`"
            )
        kind = " (only for evaluation)" if evaluation else ""
        return (
            f"{what}{kind}: copies from pageable memory are slower and block the host; pass "
            f"`pin_memory=torch.cuda.is_available()`{advice}"
        )

    def _asynchronous(self, used: BatchUses) -> str:
        """How to make the copies asynchronous, unless a framework does so."""
        if used.moves:
            return _ASYNCHRONOUS
        advice = used.framework_moves[0].framework.advice
        return f", and set {advice}" if advice else ""

    def _place(self, used: BatchUses) -> str:
        """Who moves the batches, and where."""
        if used.moves:
            return f"on {self.module.line_in_words(used.moves[0].move)}"
        return f"by {used.framework_moves[0].framework.name}, which does not pin them"

    def _evidence(self, used: BatchUses) -> list[Evidence]:
        calls = dict.fromkeys(getattr(m.move.func, "attr", m.move) for m in used.moves)
        found = [self.module.evidence(call, "a batch is moved to the GPU here") for call in list(calls)[:5]]
        given = dict.fromkeys((move.node, move.framework.name) for move in used.framework_moves)
        return [*found, *(self.module.evidence(node, f"{name} gets the loader here") for node, name in list(given)[:5])]
