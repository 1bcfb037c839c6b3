"""TL503: cuDNN is disabled for the whole program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import CUDNN_LAYERS, ENABLED
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.flags.paths import BackendFlag


class CudnnDisabled(Rule):
    id = "TL503"
    name = "cudnn-disabled"
    summary = "cuDNN is disabled for the whole program"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (identifier_parts("cudnn"),)
    layout = False
    recipe = Recipe(
        "layer-flags", "run", "convolutions or recurrent layers run without cuDNN", flags=(("enabled", False),)
    )

    @on.flag(ENABLED, value=False)
    def disabled(self, flag: BackendFlag) -> None:
        """Check a write that leaves ``cudnn.enabled`` False."""
        from torchlint.rules.backends._fixes import without_disabling
        from torchlint.rules.backends._intended import is_conditional, is_workaround

        if self.module.in_test_function(flag.node) or is_conditional(self.module, flag.node):
            return
        hint = is_workaround(self.module, flag.node) or self._has_no_cudnn_layers()
        self.report(
            flag.node,
            "cuDNN is disabled from here on, so convolutions and recurrent layers fall back to slower "
            "kernels: delete the line, or disable cuDNN only where needed, under "
            "`with torch.backends.cudnn.flags(enabled=False):`",
            severity=Severity.INFO if hint else Severity.WARNING,
            fix=without_disabling(self.module, flag),
        )

    def _has_no_cudnn_layers(self) -> bool:
        """Whether the file constructs layers, none of which is convolutional or recurrent."""
        import libcst as cst

        modules = [self.module.qualified(call.func) or "" for call in self.module.nodes_of(cst.Call)]
        layers = {name.rpartition(".")[2] for name in modules if name.startswith("torch.nn.")}
        if not layers or any(name.startswith(("torchvision.models", "timm.")) for name in modules):
            return False
        return not any(layer.startswith(CUDNN_LAYERS) for layer in layers)
