"""TL402: the process that trains decodes the samples itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loader import Loader


class LoaderSingleProcess(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` without workers (`num_workers` absent or 0) over a dataset whose `__getitem__`
    decodes a file for each sample (`Image.open`, `cv2.imread`, `librosa.load`, `np.load`), or over one of torchvision's
    datasets of files such as `ImageFolder`, if a loop in the same file trains on its batches and the file uses an
    accelerator. The rule is off by default, since the right number of workers depends on the machine.

    ## Why it costs
    Without workers, the training process loads each batch between two steps, while the GPU has nothing to do. With
    torch 2.13, loading a batch of 32 JPEG images of 500 x 375 pixels took 124 to 131 ms of CPU time in the training
    process, and 4 ms with two workers, which did the rest. How long a GPU waits depends on the model and the storage;
    only a run there can show it.

    ## Instead
    Flagged:

    ```python
    import torch
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset
    from torchvision.transforms.functional import to_tensor


    class Pictures(Dataset):
        def __init__(self, paths):
            self.paths = paths

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, i):
            return to_tensor(Image.open(self.paths[i]))


    def train(paths, model, optimizer):
        for x in DataLoader(Pictures(paths), batch_size=64):
            model(x.cuda()).mean().backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import torch
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset
    from torchvision.transforms.functional import to_tensor


    class Pictures(Dataset):
        def __init__(self, paths):
            self.paths = paths

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, i):
            return to_tensor(Image.open(self.paths[i]))


    def train(paths, model, optimizer):
        for x in DataLoader(Pictures(paths), batch_size=64, num_workers=4, pin_memory=True):
            model(x.cuda(non_blocking=True)).mean().backward()
            optimizer.step()
    ```

    ## When to leave it
    While debugging, and where a step takes much longer than loading a batch. Where processes are not forked (macOS,
    Windows, and Linux from Python 3.14 on), notebooks and scripts without `if __name__ == "__main__":` cannot use
    workers.

    The rule is silent for iterable datasets, whose workers would all yield the same samples; for datasets that hold a
    lambda or an open file, which cannot be sent to a worker; for files that are decoded under a condition, as with a
    cache; for loaders used only for evaluation; and if `**kwargs` may set `num_workers`.

    ## Fix safety
    There is no fix: the best number of workers depends on the machine, and workers draw different random numbers.

    ## Confirmed by
    The program waits at least a millisecond for each batch: what is faster, workers would hardly hide.

    ## Sources
    - [torch.utils.data, multi-process data loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading)
    - [Performance tuning guide, enable asynchronous data loading](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#enable-asynchronous-data-loading-and-augmentation)
    """

    id = "TL402"
    name = "loader-single-process"
    summary = "A data loader without workers decodes samples in the training process"
    severity = Severity.INFO
    group = "advice"
    default = False
    needs = (concepts.STEPS, concepts.ON_ACCELERATOR)
    layout = False
    recipe = Recipe("loader-waits", "finding", "the program waits at least a millisecond for each batch")

    @on.loader
    def loads(self, loader: Loader) -> None:
        """Check a loader without workers."""
        if loader.name != LOADER or loader.opaque or loader.derived or not loader.stays_single:
            return
        from torchlint.rules.loading._decoding import Decoding

        decoding = self.module.shared(Decoding)
        decoder = decoding.decoder(loader)
        if decoder is None or self.module.in_test(loader.call) or not decoding.trains_on(loader):
            return
        name = self.module.code(decoder.func)
        self.report(
            loader.call,
            f"without workers, the training process decodes every sample itself (`{name}` on "
            f"{self.module.line_in_words(decoder)}) while the GPU waits: set `num_workers`",
            evidence=[self.module.evidence(decoder, "each sample is decoded here")],
        )
