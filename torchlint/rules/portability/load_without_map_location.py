"""TL702: a checkpoint is loaded to the device it was saved from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class LoadWithoutMapLocation(Rule):
    """
    ## What it finds
    `torch.load(path)` without `map_location`, whose result, or a part of it, is passed to `load_state_dict`, in a file
    that uses an accelerator.

    ## Why it costs
    `torch.load` restores each tensor on the device it was saved from. If that was a GPU, the weights are on that GPU
    twice until they have been copied into the model. In distributed training, every process restores them on the same
    GPU, `cuda:0`, and creates a CUDA context there (lucidrains/imagen-pytorch#132, pytorch/examples#1078,
    open-mmlab/mmaction2#2254). On a machine without a GPU, or with fewer, loading fails (xinntao/facexlib#37,
    bowang-lab/scGPT#195). With torch 2.13 on the simulated device, weights saved from `cuda:0` are restored on
    `cuda:0`, and with `map_location="cpu"` on the host; the model stays where it is.

    ## Instead
    Flagged:

    ```python
    import torch


    def resume(model, path):
        model.load_state_dict(torch.load(path))
        return model.cuda()
    ```

    Preferred:

    ```python
    import torch


    def resume(model, path):
        model.load_state_dict(torch.load(path, map_location="cpu"))
        return model.cuda()
    ```

    Since torch 2.1, `mmap=True` in addition reads each tensor from the file only when it is copied.

    ## When to leave it
    If the file was saved from the CPU, `map_location` makes no difference. The rule is silent under checks for CUDA, in
    `try` statements, where another branch passes `map_location`, for states without large tensors, such as those of
    schedulers, where `**kwargs` may pass a device, in tests, and in files that use no accelerator.

    ## Fix safety
    Adding `map_location="cpu"` is unsafe: whatever else the program does with the loaded tensors then happens on the
    host. `load_state_dict` of modules and optimizers copies them to the device of the parameters, unless `assign=True`
    is passed.

    ## Confirmed by
    In a run with `--on cpu`, the program fails at this line. Other runs do not show it, nor does one that loads what it
    has saved itself.

    ## Sources
    - [`torch.load`](https://docs.pytorch.org/docs/stable/generated/torch.load.html)
    - [lucidrains/imagen-pytorch#132](https://github.com/lucidrains/imagen-pytorch/pull/132)
    - [pytorch/examples#1078](https://github.com/pytorch/examples/issues/1078)
    - [open-mmlab/mmaction2#2254](https://github.com/open-mmlab/mmaction2/pull/2254)
    """

    id = "TL702"
    name = "load-without-map-location"
    summary = "A checkpoint is loaded without `map_location`, to the device it was saved from"
    severity = Severity.INFO
    group = "portability"
    fix = "sometimes"
    needs = (concepts.ON_ACCELERATOR, identifiers("load_state_dict"))
    layout = False
    recipe = Recipe("cuda-required", "finding", "with CUDA hidden, what was saved on a GPU cannot be loaded")

    @on.call("torch.load")
    def loads(self, node: cst.Call) -> None:
        """Check a call of ``torch.load``."""
        from torchlint.rules.portability._checkpoints import Checkpoints

        module = self.module
        restored = module.shared(Checkpoints).restored(node)
        if restored is None or module.in_test(node) or not module.device_evidence.on_accelerator:
            return
        from torchlint.rules.portability._fixes import to_host

        self.report(
            node,
            f"without `map_location`, `torch.load` restores tensors on the GPU they were saved from{self._everywhere()}"
            ', which takes memory for a second copy, and fails without that GPU: pass `map_location="cpu"`',
            evidence=[module.evidence(restored, "what was loaded is copied here")],
            cause="checkpoints loaded without `map_location`",
            fix=to_host(module, node),
        )

    def _everywhere(self) -> str:
        """What is worse in distributed training."""
        from torchlint.knowledge.portability import DISTRIBUTED_WORDS

        distributed = any(word in self.module.text for word in DISTRIBUTED_WORDS)
        return " (the same in every process)" if distributed else ""
