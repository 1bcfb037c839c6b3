"""TL503: cuDNN is disabled for the whole program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import CUDNN_LAYERS, ENABLED
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.flag_paths import BackendFlag


class CudnnDisabled(Rule):
    """
    ## What it finds
    `torch.backends.cudnn.enabled = False`, also through an alias or `setattr`, that is never undone.

    ## Why it costs
    Convolutions, recurrent layers, batch normalization and CTC loss fall back to PyTorch's own kernels. Recurrent
    layers lose their fused kernels, convolutions lose Tensor Cores and `channels_last`. Usually the line was left
    over from debugging, or from working around a bug of an old version.

    ## Instead
    Flagged:

    ```python
    import torch

    torch.backends.cudnn.enabled = False
    model = torch.nn.Conv2d(3, 16, 3)
    ```

    Preferred:

    ```python
    import torch

    model = torch.nn.Conv2d(3, 16, 3)


    def second_order(x):
        with torch.backends.cudnn.flags(enabled=False):
            return torch.autograd.grad(model(x).sum(), x, create_graph=True)
    ```

    What the fix makes of the first, which needs no double backward:

    ```python
    import torch

    model = torch.nn.Conv2d(3, 16, 3)
    ```

    ## When to leave it
    Where a single operation needs it, disable cuDNN around that operation: `with
    torch.backends.cudnn.flags(enabled=False)` is never flagged, nor is a value that is restored later, or a
    condition on a version, a platform or an option. If a comment names the bug, or the models of the file have
    neither convolutions nor recurrent layers, the finding is an `info`.

    ## Fix safety
    Unsafe: the line is deleted. Other kernels run, which changes the last bits of results, and a bug that the line
    worked around may come back.

    ## Confirmed by
    With cuDNN enabled, the run is faster and its results are finite.

    ## Sources
    - [torch.backends.cudnn](https://docs.pytorch.org/docs/stable/backends.html#torch-backends-cudnn)
    """

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
