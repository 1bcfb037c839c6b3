"""TL506: a convolutional model with inputs of one size trains without cuDNN's benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class BenchmarkNeverSet(Rule):
    """
    ## What it finds
    A training script (with `if __name__ == "__main__"`) for a convolutional model on an accelerator, with images
    of a fixed size, where no file of the run sets a cuDNN flag. Off by default.

    ## Why it costs
    With `benchmark` on, cuDNN times its algorithms once for each input shape and then uses the fastest. Published
    gains range from 17 to 12 minutes an epoch (speechbrain#294) to nothing. They date from before 2021, and
    cuDNN's own choice has improved since.

    ## Instead
    Flagged:

    ```python
    import torch
    from torchvision import datasets, models


    def main():
        model = models.resnet18().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in torch.utils.data.DataLoader(datasets.CIFAR10("data")):
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()


    if __name__ == "__main__":
        main()
    ```

    Preferred:

    ```python
    import torch
    from torchvision import datasets, models


    def main():
        torch.backends.cudnn.benchmark = True
        model = models.resnet18().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in torch.utils.data.DataLoader(datasets.CIFAR10("data")):
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()


    if __name__ == "__main__":
        main()
    ```

    ## When to leave it
    In short runs, since benchmarking takes time at the start; where results must be reproducible; with inputs of
    many shapes. The rule is silent where the file imports modules that are not part of the run, and for frameworks
    that have their own setting.

    ## Fix safety
    No fix is offered: other algorithms round differently, and the choice may differ from run to run.

    ## Confirmed by
    Steps are more than 2 % faster with the benchmark, after the first ones.

    ## Sources
    - [Performance tuning guide, enable cuDNN auto-tuner](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#enable-cudnn-auto-tuner)
    - [speechbrain/speechbrain#294](https://github.com/speechbrain/speechbrain/issues/294)
    """

    id = "TL506"
    name = "benchmark-never-set"
    summary = "A convolutional model with inputs of a fixed size trains without `cudnn.benchmark`"
    severity = Severity.INFO
    default = False
    needs = (concepts.TORCH, identifiers("__main__"), identifiers("backward step"), concepts.MOVE)
    layout = False
    recipe = Recipe(
        "untuned-convolutions",
        "run",
        "a step is faster with the benchmark on, after warm-up",
        flags=(("benchmark", False),),
    )

    @on.file
    def trains(self, module: SourceModule) -> None:
        """Check a program as a whole."""
        from torchlint.rules.backends._tuning import Tuning

        main = module.shared(Tuning).untuned_program()
        if main is not None:
            self.report(
                main,
                "this trains a convolutional model on inputs of a fixed size without cuDNN's autotuner: try "
                "`torch.backends.cudnn.benchmark = True`",
            )
