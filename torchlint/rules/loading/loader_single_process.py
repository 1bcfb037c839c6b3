"""TL402: the process that trains decodes the samples itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Evidence, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.project.followed import SELDOM
from torchlint.rule import Rule
from torchlint.text.cells import in_words

if TYPE_CHECKING:
    from torchlint.analysis.things.loading.loader import Loader


class LoaderSingleProcess(Rule):
    id = "TL402"
    name = "loader-single-process"
    summary = "A data loader without workers decodes samples in the training process"
    severity = Severity.INFO
    group = "advice"
    default = False
    needs = (concepts.STEPS,)
    layout = False
    recipe = Recipe("loader-waits", "finding", "the program waits at least a millisecond for each batch")

    @on.loader
    def loads(self, loader: Loader) -> None:
        """Check a loader without workers."""
        known = self.module.followed.loader(loader.call)
        if loader.name != LOADER or loader.derived or known is None or known.workers != 0 or not known.starts:
            return
        path, line, name = known.decodes
        if not name or known.rate == SELDOM or self.module.in_test(loader.call):
            return
        here = path == self.module.path.replace("\\", "/")
        where = f"on {in_words(self.module.text, [line])}" if here else f"in {path}, line {line}"
        self.report(
            loader.call,
            f"without workers, the training process decodes every sample itself (`{name}` {where}) while the GPU "
            "waits: set `num_workers`",
            evidence=[Evidence(line, 1, "each sample is decoded here")] if here else [],
        )
