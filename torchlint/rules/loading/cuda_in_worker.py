"""TL406: a dataset or collate function puts samples on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADERS
from torchlint.knowledge.tensors import DATASET_BASES
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of, identifiers, of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.loading._device_work import DeviceWork


class CudaInWorker(Rule):
    id = "TL406"
    name = "cuda-in-worker"
    summary = "A dataset or `collate_fn` puts samples on the GPU"
    severity = Severity.WARNING
    group = "preview"
    needs = (any_of(concepts.ON_ACCELERATOR, identifiers("device")), of_library((*LOADERS, *DATASET_BASES)))
    layout = False
    recipe = Recipe("blocking-uploads", "evidence", "samples are copied to the device one by one", least=2)

    @on.file
    def loads(self, module: SourceModule) -> None:
        """Check the datasets and collate functions of the file."""
        from torchlint.rules.loading._device_work import DeviceWorks

        for work in module.shared(DeviceWorks).all():
            if not module.in_test(work.calls[0]):
                self._check(work)

    def _check(self, work: DeviceWork) -> None:
        first, *others = work.calls
        code = self.module.code(first)
        made = [self.module.evidence(work.loader.call, "this loader has workers")] if work.loader is not None else []
        also = [self.module.evidence(call, "this is on the device, too") for call in others[:5]]
        self.report(first, f"`{code}` {self._cost(work)}", evidence=[*made, *also])

    def _cost(self, work: DeviceWork) -> str:
        advice = "return CPU tensors, and move whole batches in the training loop"
        if work.loader is None:
            return (
                f"in `{work.function}` copies samples to the GPU one by one, and rules out forked worker processes: "
                f"{advice}"
            )
        return f"runs in a worker process, where CUDA fails after a fork, or needs its own context: {advice}"
