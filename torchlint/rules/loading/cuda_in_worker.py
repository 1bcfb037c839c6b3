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
    """
    ## What it finds
    Copies to the GPU, and tensors created there (`torch.tensor(row, device=device)`), in `__getitem__` and
    `__getitems__` of a dataset, in `__iter__` of an iterable dataset that a loader with workers reads, in the
    `collate_fn` of a loader with workers, and in methods that these call. A device chosen at run time
    (`"cuda" if torch.cuda.is_available() else "cpu"`) counts as a GPU.

    ## Why it costs
    Each sample is copied by itself; moving batches in the training loop takes one copy for each tensor of a batch, from
    pinned memory. Such a dataset also rules out worker processes in many programs. If they are started by `fork` (the
    default on Linux before Python 3.14), CUDA refuses to run in them once the parent has used it ("Cannot re-initialize
    CUDA in forked subprocess"). If they are started by `spawn`, each worker creates its own CUDA context, which takes
    hundreds of megabytes of GPU memory. On the simulated device (torch 2.13), 32 samples in batches of 8 were 32 copies
    in `__getitem__`, and 4 in the loop. Only a run on a GPU can show the time and memory.

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
    Where a decoder on the GPU creates the samples. A dataset that lies on the GPU as a whole, and is only indexed, is
    fine without workers, and is not reported.

    Without workers, the rule is silent for a `collate_fn`, where each sample is a batch of its own (`batch_size=None`
    or 1), and where the result is copied back to the host. It is also silent under conditions, and for devices that are
    the CPU by default or that of another tensor.

    ## Fix safety
    There is no fix: the batches must be moved in another place of the program.

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
