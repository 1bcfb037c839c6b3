"""TL503: cuDNN is switched off for the whole program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class CudnnDisabled(Rule):
    """
    ## What it finds
    `torch.backends.cudnn.enabled = False`, also through an alias or `setattr`, that nothing takes back.

    ## Why it costs
    Convolutions, recurrent layers, batch normalisation and CTC fall back to PyTorch's own kernels. Recurrent
    layers lose their fused kernels, convolutions the Tensor Core paths and `channels_last`. It is mostly a
    switch for debugging, or for a fault of an old version, that was left in.

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
    Where an operation needs it, around that operation: `with torch.backends.cudnn.flags(enabled=False)` is
    never flagged, nor is a value that is put back, or a condition on a version, a platform or an option. A
    comment that names the fault makes it `info`, and so does a file whose models have neither convolutions nor
    recurrent layers.

    ## Fix safety
    Unsafe: the line is deleted. That changes the kernels, and with them the last bits of results, and a fault that
    the line worked around may come back.

    ## Confirmed by
    With the switch on, the run is faster and its results are finite.

    ## Sources
    - [torch.backends.cudnn](https://docs.pytorch.org/docs/stable/backends.html#torch-backends-cudnn)
    """

    id = "TL503"
    name = "cudnn-disabled"
    summary = "cuDNN is disabled for the whole program"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (parts("cudnn"), parts("enabled"))
    layout = False
    recipe = Recipe(
        "layer-flags", "run", "convolutions or recurrent layers run without cuDNN", flags=(("enabled", False),)
    )

    def visit_Module(self, node: cst.Module) -> None:  # noqa: ARG002 - the whole file is one question
        from torchlint.analysis.things.backends import Backends
        from torchlint.knowledge.backends import ENABLED

        backends = self.module.shared(Backends)
        for write in backends.left(ENABLED, value=False):
            if backends.is_test(write.node) or backends.by_choice(write.node):
                continue
            from torchlint.rules.backends._fixes import with_cudnn

            hint = backends.explained(write.node) or backends.without_cudnn()
            self.report(
                write.node,
                "cuDNN is disabled from here on, so convolutions and recurrent layers fall back to slower "
                "kernels: delete the line, or disable cuDNN only where needed, under "
                "`with torch.backends.cudnn.flags(enabled=False):`",
                severity=Severity.INFO if hint else Severity.WARNING,
                fix=with_cudnn(self.module, write),
            )
