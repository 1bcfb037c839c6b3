"""TL403: worker processes load data that is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loader import Loader


class WorkersForInMemoryData(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` with workers over a `TensorDataset`, a part of one (`Subset`, `random_split`), or a
    dataset of the file whose `__getitem__` only reads rows of tensors. The number of workers must be a literal, or the
    default of a command line option. The remedy is to write the loop in another way, which pays only where steps are
    short.

    ## Why it costs
    The loader fetches the rows one by one and stacks them again, and a worker sends the batch to the main process
    through shared memory. Indexing the tensors with all rows of a batch is a single operation. With torch 2.13, an
    epoch over 20,000 rows of 32 numbers in batches of 256 took 0.006 s by indexing; a `DataLoader` took 0.27 s without
    workers, 0.49 s with two workers that are started for the epoch, and 0.11 s with two persistent ones (the best of
    five, with one thread, on a busy CPU with two cores). So changing the number of workers is no remedy. Others
    measured factors of 3 to 124 (pytorch/pytorch#154318). Small tensors can also be kept on the GPU as a whole.

    ## Instead
    Flagged:

    ```python
    from torch.utils.data import DataLoader, TensorDataset


    def make_loader(x, y):
        return DataLoader(TensorDataset(x, y), batch_size=256, shuffle=True, num_workers=4)
    ```

    Preferred:

    ```python
    import torch


    def batches(x, y):
        for rows in torch.randperm(len(x)).split(256):
            yield x[rows], y[rows]
    ```

    ## When to leave it
    Where the step takes so long that loading does not matter, or where the loop is shared with datasets that need a
    loader. The rule is silent for datasets and `collate_fn`s that do anything with a sample, for memory-mapped files,
    for loaders without workers, and if the number of workers is unknown or may be 0.

    ## Fix safety
    There is no fix: the loop over the loader must be written in another way.

    ## Confirmed by
    No run decides it, and the verdict is `unknown`: it takes a comparison of two runs, with and without
    workers.

    ## Sources
    - [pytorch/pytorch#154318](https://github.com/pytorch/pytorch/issues/154318)
    - [pytorch/pytorch#106704](https://github.com/pytorch/pytorch/issues/106704)
    - [`torch.utils.data.TensorDataset`](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.TensorDataset)
    """

    id = "TL403"
    name = "workers-for-in-memory-data"
    summary = "Worker processes load data that is already in memory"
    severity = Severity.INFO
    group = "preview"
    needs = (identifiers("DataLoader"),)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "it takes a comparison of two runs, with and without workers",
    )

    @on.loader
    def feeds(self, loader: Loader) -> None:
        """Check a loader with workers."""
        if loader.name != LOADER or loader.opaque or not loader.has_workers:
            return
        from torchlint.rules.loading._epochs import Epochs
        from torchlint.rules.loading._in_memory import InMemory

        workers = self.module.shared(Epochs).workers(loader)
        if not workers or self.module.in_test(loader.call) or not self.module.shared(InMemory).feeds(loader):
            return
        what = "a worker process collects" if workers == 1 else f"{workers} worker processes collect"
        self.report(
            loader.call,
            f"{what} batches row by row from tensors in memory: index the tensors with all rows of a batch at once, "
            "as in `for rows in torch.randperm(len(x)).split(256)`",
        )
