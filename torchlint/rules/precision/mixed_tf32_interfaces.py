"""TL809: the old interface to TensorFloat-32 is used after the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class MixedTf32Interfaces(Rule):
    id = "TL809"
    name = "mixed-tf32-interfaces"
    summary = "The old and the new interface to TensorFloat-32 contradict each other"
    severity = Severity.ERROR
    group = "preview"
    needs = (concepts.TORCH, identifiers("fp32_precision"))
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "a program that gets there ends with the error, and one that goes on has caught it or runs an older torch",
    )

    @on.file
    def mixes(self, module: SourceModule) -> None:
        """Check the settings of a file, in their order."""
        from torchlint.rules.precision._tf32 import Tf32

        settings = module.shared(Tf32)
        for read, write in settings.failing_reads():
            self.report(
                read.node,
                f"`{module.code(read.node)}` raises an error in torch 2.9 and later, as it disagrees with "
                f"`{write.name}` ({module.line_in_words(write.node)}): use only one of the two interfaces",
                evidence=[module.evidence(write.node, "the new interface is used here")],
            )
        for write, earlier in settings.contradictions():
            self.report(
                write.node,
                f"this contradicts `{earlier.name}` ({module.line_in_words(earlier.node)}), the old interface to the "
                "same setting: in torch 2.9 and later, any read of `allow_tf32` raises an error from here on; use only "
                "one of the two interfaces",
                evidence=[module.evidence(earlier.node, "the old interface is used here")],
            )
