"""TL504: cuDNN benchmarks although input shapes vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.backends import BENCHMARK
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifier_parts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.flag_paths import BackendFlag


class BenchmarkVariableShapes(Rule):
    """
    ## What it finds
    `torch.backends.cudnn.benchmark = True` in a program whose inputs have many shapes: batches padded to their
    longest sample, `Resize(n)` without a crop, a random size in every step, torchvision's detection models. The
    evidence may be in the same file, or in files that it imports and that are linted in the same run.

    ## Why it costs
    For each new shape cuDNN times up to ten algorithms, and PyTorch then empties its caching allocator. A forward
    pass of ResNet-50 took 0.02 s with one size and 0.6 to 2.3 s with random sizes (pytorch/pytorch#2759, an older
    version without that limit); torchvision removed the flag from its detection references (pytorch/vision#5985).
    Each shape is benchmarked once per process, so a few shapes are fine.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.backends.cudnn.benchmark = True
    model = nn.Conv1d(80, 256, 5)


    def collate(samples):
        return pad_sequence(samples, batch_first=True)
    ```

    Preferred:

    ```python
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.backends.cudnn.benchmark = False
    model = nn.Conv1d(80, 256, 5)


    def collate(samples):
        return pad_sequence(samples, batch_first=True)
    ```

    ## When to leave it
    With a handful of shapes, for example where lengths are rounded up to buckets, or images are square already.
    The rule is silent where there are no convolutions, and where some phase of the program disables `benchmark`.

    ## Fix safety
    Unsafe: `benchmark` is set to False. cuDNN then runs other algorithms, which may round the last bits
    differently.

    ## Confirmed by
    Convolutions see more than about ten shapes, and the first occurrences take more than 5 % of the time.

    ## Sources
    - [pytorch/pytorch#2759](https://github.com/pytorch/pytorch/issues/2759)
    - [pytorch/vision#5985](https://github.com/pytorch/vision/pull/5985)
    """

    id = "TL504"
    name = "benchmark-variable-shapes"
    summary = "cuDNN benchmarks although input shapes vary"
    severity = Severity.INFO
    group = "advice"
    fix = "sometimes"
    needs = (identifier_parts("cudnn", "trainer"),)
    layout = False
    recipe = Recipe(
        "convolution-shapes",
        "run",
        "more than ten input shapes for one convolution while the benchmark is on",
        least=11,
        flags=(("benchmark", True),),
    )

    @on.flag(BENCHMARK, value=True)
    def benchmarks(self, flag: BackendFlag) -> None:
        """Check a write that leaves ``cudnn.benchmark`` True."""
        from torchlint.rules.backends._fixes import without_benchmark
        from torchlint.rules.backends._tuning import Tuning

        shapes = None if self.module.in_test_function(flag.node) else self.module.shared(Tuning).varying_shapes
        if shapes is None:
            return
        reasons = "; ".join(shapes.kinds)
        outside = [f"{path}, line {line}" for path, line, _ in shapes.elsewhere[:2]]
        place = f" ({'; '.join(outside)})" if outside else ""
        self.report(
            flag.node,
            f"cuDNN benchmarks again for every new input shape, and input shapes vary here: {reasons}{place}; "
            "leave `benchmark` off, or pad inputs to a few fixed sizes",
            evidence=[self.module.evidence(where, text) for where, text in shapes.here[:5]],
            severity=Severity.WARNING if len(shapes.kinds) > 1 else Severity.INFO,
            fix=without_benchmark(self.module, flag),
        )
