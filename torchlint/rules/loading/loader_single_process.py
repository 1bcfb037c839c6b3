"""TL402: the process that trains decodes the samples itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.loaders import LOADER
from torchlint.model import Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.loader import Loader


class LoaderSingleProcess(Rule):
    """
    ## What it finds
    A `torch.utils.data.DataLoader` without workers (`num_workers` absent or 0), over a dataset whose `__getitem__`
    decodes a file for each sample (`Image.open`, `cv2.imread`, `librosa.load`, `np.load`), or over one of torchvision's
    datasets of files such as `ImageFolder`, if a loop of the same file trains on its batches and the file uses an
    accelerator. The rule is off by default, since what is right depends on the machine.

    ## Why it costs
    Without workers, the process that trains loads each batch between two steps, and the GPU has nothing to do
    meanwhile. With torch 2.13, batches of 32 JPEG images of 500 by 375 pixels took the training process 124 to 131 ms
    of CPU time each, and 4 ms with two workers, which did the rest. How long a GPU waits depends on the model and the
    storage; only a run there shows it.

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
    In notebooks and scripts without `if __name__ == "__main__":` where processes are not forked (macOS, Windows, Linux
    from Python 3.14 on), while debugging, and where the step takes much longer than loading. The rule is silent for
    iterable datasets, whose workers would all yield the same samples; for datasets that hold a lambda or an open file,
    which cannot be sent to a worker; for files that are decoded under a condition, as with a cache; for loaders that
    only evaluate; and if `**kwargs` may set `num_workers`.

    ## Fix safety
    There is no fix: the best number depends on the machine, and workers draw other random numbers.

    ## Confirmed by
    A comparison of two runs. A single run does not show it, so the verdict is `unknown`.

    ## Sources
    - [torch.utils.data, multi-process data loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading)
    - [Performance tuning guide, enable asynchronous data loading](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#enable-asynchronous-data-loading-and-augmentation)
    """

    id = "TL402"
    name = "loader-single-process"
    summary = "The process that trains decodes the samples itself"
    severity = Severity.WARNING
    default = False
    needs = (concepts.STEPS, concepts.ON_ACCELERATOR)
    layout = False

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
            f"without workers, the process that trains reads and decodes every sample itself (`{name}` on "
            f"{self.module.line_in_words(decoder)}), and the GPU waits: set `num_workers`",
            evidence=[self.module.evidence(decoder, "each sample is decoded here")],
        )
