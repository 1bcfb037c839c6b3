"""TL404: the workers of a loader are started again in every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.loader import Loader


class WorkersNotPersistent(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` with workers and without `persistent_workers`, over which a training in the same
    file iterates in every epoch. The number of workers must be a literal, or the default of a command line option.

    ## Why it costs
    Without `persistent_workers=True`, all worker processes end with the epoch and are started again, one after the
    other, for the next one, which waits until the first of them has loaded a batch. With `spawn` (macOS, Windows) and
    `forkserver` (Linux from Python 3.14 on), each worker also imports the program again and receives a pickled copy of
    the dataset. With torch 2.13 and two workers, 5 epochs started 10 processes, and 2 with `persistent_workers=True`;
    on a busy CPU with two cores, the 5 epochs of 100 small batches took 6.0 and 2.4 s. Users report 30 s at the start
    of each epoch (RIDE-LongTailRecognition#33). Whether a GPU waits for the workers, only a run there can show.

    ## Instead
    Flagged:

    ```python
    from torch.utils.data import DataLoader


    def train(dataset, model, optimizer, epochs):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4)
        for epoch in range(epochs):
            for x in loader:
                model(x).mean().backward()
                optimizer.step()
    ```

    Preferred:

    ```python
    from torch.utils.data import DataLoader


    def train(dataset, model, optimizer, epochs):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, persistent_workers=True)
        for epoch in range(epochs):
            for x in loader:
                model(x).mean().backward()
                optimizer.step()
    ```

    ## When to leave it
    Where an epoch takes much longer than starting the workers; where memory is short, since each worker keeps its copy
    of the dataset; and where the main process changes the dataset between epochs, which running workers do not see.

    The rule is silent if the file calls methods of the dataset or sets its attributes, if the number of workers is
    unknown or may be 0, for loaders that are read once or only for evaluation, for tensors in memory (TL403), and for
    subclasses of `DataLoader`.

    ## Fix safety
    Adding `persistent_workers=True` is unsafe: workers keep the state of their dataset and of their random numbers from
    one epoch to the next. If the number of workers is an option, the fix adds `persistent_workers=args.workers > 0`,
    since `True` is an error without workers.

    ## Confirmed by
    Iterators with workers that are created more than once. No GPU is needed for that.

    ## Sources
    - [`torch.utils.data.DataLoader`](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader)
    - [pytorch/pytorch#167387](https://github.com/pytorch/pytorch/issues/167387)
    - [frank-xwang/RIDE-LongTailRecognition#33](https://github.com/frank-xwang/RIDE-LongTailRecognition/issues/33)
    """

    id = "TL404"
    name = "workers-not-persistent"
    summary = "The workers of a data loader are started again in every epoch"
    severity = Severity.INFO
    programs = ("training",)
    fix = "sometimes"
    needs = (concepts.STEPS, identifiers("num_workers", "DataLoader"))
    layout = False
    recipe = Recipe(
        "worker-starts",
        "evidence",
        "iterators with workers are constructed more than once",
        least=2,
        functions=("torch.utils.data.dataloader._MultiProcessingDataLoaderIter",),
    )

    @on.loader
    def restarts(self, loader: Loader) -> None:
        """Check a loader with workers that does not keep them."""
        if loader.name != LOADER or loader.derived or loader.opaque or not loader.has_workers:
            return
        if loader.arguments("persistent_workers") or self.module.in_test(loader.call):
            return
        from torchlint.rules.loading._epochs import Epochs
        from torchlint.rules.loading._in_memory import InMemory

        epochs = self.module.shared(Epochs)
        workers = epochs.workers(loader)
        reads = epochs.reads_of(loader) if workers else []
        if not reads or epochs.changes(loader) or self.module.shared(InMemory).feeds(loader):
            return  # TL403 has better advice for data in memory
        from torchlint.rules.loading._fixes import persistent_workers

        value = self._value(loader)
        count = "worker process of this loader is" if workers == 1 else f"{workers} worker processes of this loader are"
        self.report(
            loader.call,
            f"the {count} started again in every epoch: pass `persistent_workers={value}`, "
            "unless the dataset changes between epochs",
            evidence=[self.module.evidence(read, "workers are started here, in every epoch") for read in reads],
            fix=persistent_workers(self.module, loader, value),
        )

    def _value(self, loader: Loader) -> str:
        given: cst.BaseExpression = loader.arguments("num_workers")[0]
        literal = self.module.value(given).known
        return "True" if literal else f"{self.module.code(given)} > 0"
