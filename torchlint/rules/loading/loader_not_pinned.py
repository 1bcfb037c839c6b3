"""TL401: batches are copied to the GPU from pageable memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import COPY
from torchlint.knowledge.loaders import LOADER, OTHER_DEVICES
from torchlint.model import Evidence, Recipe, Severity
from torchlint.project.followed import BATCHES
from torchlint.rule import Rule
from torchlint.text.cells import in_words

if TYPE_CHECKING:
    from torchlint.analysis.things.loading.loader import Loader
    from torchlint.project.followed import FollowedFeed, FollowedLoader


# How copies from pinned memory are made asynchronous, unless the library that copies always does so.
_ASYNCHRONOUS = {
    "": ", and move batches with `non_blocking=True`",
    "Accelerate": ", and set `non_blocking=True` in its `DataLoaderConfiguration`",
    "Ignite": ", and set `non_blocking=True` in `create_supervised_trainer`",
}


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
        """Check a data loader whose batches are copied to the device."""
        known = self.module.followed.loader(loader.call)
        feed = known.feed if known is not None else None
        if known is None or feed is None or feed.pins is not False or self.module.in_test(loader.call):
            return
        if loader.name != LOADER or self._has_other_device():
            return

        from torchlint.rules.loading._fixes import pin_memory

        trains = feed.phase == "training"
        self.report(
            loader.call,
            self._message(loader, known, feed),
            evidence=list(self._evidence(feed)),
            severity=Severity.WARNING if trains and known.workers != 0 else Severity.INFO,
            fix=pin_memory(self.module, loader),
        )

    def _evidence(self, feed: FollowedFeed) -> Iterator[Evidence]:
        """The copies of batches on the line where those of the loader are copied, if that is in this file."""
        followed, here = self.module.followed, feed.path == self.module.path.replace("\\", "/") and not feed.by
        copies = (e.place for e in followed.events if e.form.startswith(COPY) and e.origin in BATCHES)
        found = followed.expressions([place for place in copies if place[0] == feed.line]) if here else {}
        for _, copy in sorted(found.items()):
            method = getattr(getattr(copy, "func", None), "attr", copy)
            yield self.module.evidence(method, "a batch is moved to the GPU here")

    def _has_other_device(self) -> bool:
        return any(name in self.module.text for name in OTHER_DEVICES)

    def _message(self, loader: Loader, known: FollowedLoader, feed: FollowedFeed) -> str:
        state = "sets `pin_memory=False`" if loader.argument("pin_memory") else "does not set `pin_memory`"
        state = f"sets `pin_memory` only with `{known.option}`" if known.option else state
        here = feed.path == self.module.path.replace("\\", "/")
        where = f"on {in_words(self.module.text, [feed.line])}" if here else f"in {feed.path}, line {feed.line}"
        place = f"by {feed.by}, which does not pin them, {where}" if feed.by else where
        what = f"this data loader {state}, and its batches are moved to the GPU {place}"
        if known.workers == 0:
            return (
                f"{what}; without workers the main process itself would pin, so set `num_workers` first, then "
                "`pin_memory=torch.cuda.is_available()`"
            )
        kind = " (only for evaluation)" if feed.phase == "inference" else ""
        return (
            f"{what}{kind}: copies from pageable memory are slower and block the host; pass "
            f"`pin_memory=torch.cuda.is_available()`{_ASYNCHRONOUS.get(feed.by, '')}"
        )
