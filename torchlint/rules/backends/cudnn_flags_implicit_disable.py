"""TL508: a context manager meant to set another flag disables cuDNN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class CudnnFlagsImplicitDisable(Rule):
    id = "TL508"
    name = "cudnn-flags-implicit-disable"
    summary = "`cudnn.flags(...)` without `enabled=` disables cuDNN"
    severity = Severity.ERROR
    fix = "always"
    needs = (concepts.TORCH, identifiers("cudnn"))
    layout = False
    recipe = Recipe("flag-writes", "finding", "the block disables cuDNN", flags=(("enabled", False),))

    @on.call("torch.backends.cudnn.flags")
    def check(self, node: cst.Call) -> None:
        from torchlint.analysis.syntax.calls import argument, is_opaque

        if not is_opaque(node) and argument(node, "enabled", 0) is None:
            from torchlint.rules.backends._fixes import add_enabled

            self.report(
                node,
                "`enabled` defaults to `False` here, so this disables cuDNN inside the block: add `enabled=True` (or "
                "`enabled=False`, if that is intended)",
                fix=add_enabled(self.module, node),
            )
