"""TL904: every step searches the autograd graph for parameters that it does not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.distributed import CONDITIONAL_PARTS, DISTRIBUTED
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_SETTERS = (
    *DISTRIBUTED,
    "pytorch_lightning.strategies.DDPStrategy",
    "lightning.pytorch.strategies.DDPStrategy",
    "accelerate.DistributedDataParallelKwargs",
    "accelerate.utils.DistributedDataParallelKwargs",
)
_SHORT = 5


class DdpFindUnused(Rule):
    id = "TL904"
    name = "ddp-find-unused"
    summary = "`find_unused_parameters=True` traverses the autograd graph in every step"
    severity = Severity.INFO
    programs = ("training",)
    needs = (identifiers("find_unused_parameters"),)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "the graph is traversed in C++ code of DDP; the warning that DDP prints in the first step is the proof",
    )

    @on.call(*_SETTERS)
    def wraps(self, node: cst.Call) -> None:
        """Check a call that sets the option."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import keyword, literal

        module = self.module
        if literal(keyword(node, "find_unused_parameters")) is not True or module.in_test(node):
            return
        if any(_is_conditional(name.value.lower()) for name in module.nodes_of(cst.Name)):
            return
        self.report(
            node,
            "`find_unused_parameters=True` traverses the autograd graph in every step: leave it out if DDP warns in "
            "the first step that it found none, and pass `static_graph=True` if they are always the same",
        )


def _is_conditional(name: str) -> bool:
    """Whether a name tells of parameters that some steps do not use; short words count only as the end of a word."""
    if "find_unused" in name:
        return False
    words = name.split("_")
    short = tuple(part for part in CONDITIONAL_PARTS if len(part) < _SHORT)
    return any(word.endswith(short) for word in words) or any(
        part in name for part in CONDITIONAL_PARTS if len(part) >= _SHORT
    )
