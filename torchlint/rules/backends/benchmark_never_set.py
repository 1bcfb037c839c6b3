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
