"""TL402: the process that trains decodes the samples itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loading.loader import Loader


class LoaderSingleProcess(Rule):
    id = "TL402"
    name = "loader-single-process"
    summary = "A data loader without workers decodes samples in the training process"
    severity = Severity.INFO
    group = "advice"
    default = False
    needs = (concepts.STEPS, concepts.ON_ACCELERATOR)
    layout = False
    recipe = Recipe("loader-waits", "finding", "the program waits at least a millisecond for each batch")

    @on.loader
    def loads(self, loader: Loader) -> None:
        """Check a loader without workers."""
        if loader.name != LOADER or loader.opaque or loader.derived or not loader.stays_single:
            return
        from torchlint.rules.loading._decoding import Decoding

        decoding = self.module.shared(Decoding)
        decoder = decoding.decoder(loader)
        if decoder is None or self.module.in_test(loader.call) or not decoding.trains_on(loader):
            return
        name = self.module.code(decoder.func)
        self.report(
            loader.call,
            f"without workers, the training process decodes every sample itself (`{name}` on "
            f"{self.module.line_in_words(decoder)}) while the GPU waits: set `num_workers`",
            evidence=[self.module.evidence(decoder, "each sample is decoded here")],
        )
