"""TL406: a dataset or collate function puts samples on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import IN_WORKER
from torchlint.model import Evidence, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.syntax.followed import Seen


class CudaInWorker(Rule):
    id = "TL406"
    name = "cuda-in-worker"
    summary = "A dataset or `collate_fn` puts samples on the GPU"
    severity = Severity.WARNING
    group = "preview"
    needs = ()
    layout = False
    recipe = Recipe("blocking-uploads", "evidence", "samples are copied to the device one by one", least=2)

    @on.form(IN_WORKER)
    def moves(self, seen: Seen) -> None:
        """Check what puts samples on the device; what the same function puts there is shown with the first."""
        every = [one for one in self.module.followed.seen(IN_WORKER.key) if self._function(one) is self._function(seen)]
        if every[0].node is not seen.node or self.module.in_test(seen.node):
            return
        path, line = seen.event.other
        made = [Evidence(line, 1, "this loader has workers")] if line and not path else []
        also = [self.module.evidence(one.node, "this is on the device, too") for one in every[1:6]]
        self.report(seen.node, f"`{self.module.code(seen.node)}` {self._cost(seen)}", evidence=[*made, *also])

    def _function(self, seen: Seen) -> object:
        return self.module.function_of(seen.node) or seen.node

    def _cost(self, seen: Seen) -> str:
        advice = "return CPU tensors, and move whole batches in the training loop"
        if not seen.event.origin:
            return (
                f"in `{seen.event.what}` copies samples to the GPU one by one, and rules out forked worker processes: "
                f"{advice}"
            )
        return f"runs in a worker process, where CUDA fails after a fork, or needs its own context: {advice}"
