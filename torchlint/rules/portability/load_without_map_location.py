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
