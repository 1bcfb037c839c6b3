"""TL406: a dataset or collate function puts samples on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.knowledge.loaders import LOADERS
from torchlint.knowledge.tensors import DATASET_BASES
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of, identifiers, of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.loading._device_work import DeviceWork


class CudaInWorker(Rule):
    """
    ## What it finds
    Copies to the GPU, and tensors made there (`torch.tensor(row, device=device)`), in `__getitem__` and `__getitems__`
    of a dataset, in `__iter__` of an iterable dataset that a loader with workers reads, and in the `collate_fn` of a
    loader with workers; also in methods that these call. A device that is chosen at run time
    (`"cuda" if torch.cuda.is_available() else "cpu"`) counts.

    ## Why it costs
    Worker processes are started by `fork` on Linux before Python 3.14, and CUDA refuses to run in a forked process if
    it has been used before the fork ("Cannot re-initialize CUDA in forked subprocess"). Started by `spawn`, each worker
    creates a context of its own on the GPU, which takes hundreds of megabytes, and tensors are shared between the
    processes by handles. Many programs therefore run without workers, and then each sample is copied by itself, in the
    process that should train. Moving whole batches in the training loop takes one copy for each tensor of a batch, from
    pinned memory. On the simulated device, with torch 2.13, 32 samples in batches of 8 were 32 copies in
    `__getitem__`, and 4 in the loop. The time and memory that this takes, only a run on a GPU shows.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Rows(Dataset):
        def __init__(self, rows):
            self.rows = rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return torch.tensor(self.rows[i]).cuda()


    def train(rows, model):
        for x in DataLoader(Rows(rows), batch_size=64):
            model(x).mean().backward()
    ```

    Preferred:

    ```python
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Rows(Dataset):
        def __init__(self, rows):
            self.rows = rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return torch.tensor(self.rows[i])


    def train(rows, model):
        for x in DataLoader(Rows(rows), batch_size=64, num_workers=4, pin_memory=True):
            model(x.cuda(non_blocking=True)).mean().backward()
    ```

    ## When to leave it
    Where a decoder on the GPU makes the samples. A dataset that lies on the GPU as a whole, and is only indexed, is
    fine without workers, and is not reported. The rule is silent where each sample is a batch of its own
    (`batch_size=None` or 1) and there are no workers, for a `collate_fn` without workers, under conditions, for devices
    that are the CPU by default or those of another tensor, and, without workers, where the result is brought back to
    the host.

    ## Fix safety
    There is no fix: the batches must be moved in another place.

    ## Confirmed by
    Copies to the device at this line that the host waits for.

    ## Sources
    - [torch.utils.data, multi-process data loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading)
    - [CUDA in multiprocessing](https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing)
    - [pytorch/pytorch#77159](https://github.com/pytorch/pytorch/issues/77159)
    - [pytorch/pytorch#40403](https://github.com/pytorch/pytorch/issues/40403)
    """

    id = "TL406"
    name = "cuda-in-worker"
    summary = "A dataset or collate function puts samples on the GPU"
    severity = Severity.WARNING
    needs = (any_of(concepts.ON_ACCELERATOR, identifiers("device")), of_library((*LOADERS, *DATASET_BASES)))
    layout = False
    recipe = Recipe("blocking-uploads", "evidence", "samples are copied to the device one by one", least=2)

    def visit_Module(self, _: cst.Module) -> None:
        """Check the datasets and collate functions of the file."""
        from torchlint.rules.loading._device_work import DeviceWorks

        for work in self.module.shared(DeviceWorks).all():
            if not self.module.in_test(work.calls[0]):
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
                f"copies each sample to the GPU by itself, since it is in `{work.function}`, and worker processes "
                f"could not do it: {advice}"
            )
        return f"runs in a worker process, where CUDA fails after a fork, or takes a context per worker: {advice}"
